/** The load on a proxy under measurement. */
export type Load = {
  readonly core: number;
  readonly seconds: number;
  readonly connections?: number;
  readonly path?: string;
  /** Each request on a new connection. */
  readonly close?: boolean;
  /** Over TLS. */
  readonly secure?: boolean;
};

export type Measured = { readonly perSecond: number; readonly requests: number };
