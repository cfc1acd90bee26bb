/** What is asked of a proxy under measurement. */
export type Load = {
  readonly core: number;
  readonly seconds: number;
  readonly connections?: number;
  readonly path?: string;
  /** Each request on a connection of its own. */
  readonly close?: boolean;
  /** Over TLS. */
  readonly secure?: boolean;
};

export type Measured = { readonly perSecond: number; readonly requests: number };
