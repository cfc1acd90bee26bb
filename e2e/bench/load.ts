/** The load on a proxy under measurement. */
export type Load = {
  readonly core: number;
  readonly seconds: number;
  readonly connections?: number;
  readonly path?: string;
  /** Each request on a new connection. */
  readonly close?: boolean;
  /** Field lines of each request, without line ends; wrk only. */
  readonly fields?: readonly string[];
  /** Over TLS. */
  readonly secure?: boolean;
};

export type Measured = { readonly perSecond: number; readonly requests: number };
