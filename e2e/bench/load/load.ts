/** The load on a proxy under measurement. */
export type LoadOptions = {
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
  /** Concurrent requests per connection; h2load only. */
  readonly streams?: number;
  /** The mean pause of each connection before a request (ms); each pause is between half and one and a half times as long. wrk only. */
  readonly pauseMs?: number;
};

export type Measured = {
  readonly perSecond: number;
  readonly requests: number;
  /** The median and the 99th percentile of the time until the response is complete, in ms; null if the program does not report them. */
  readonly latency: Latency | null;
};
export type Latency = { readonly p50: number; readonly p99: number };

/** A program that loads a port. @throws if any response was not as expected. */
export type Tool = (port: number, load: LoadOptions) => Promise<Measured>;
