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
  /** The requests per second of all connections together; `paced` only. */
  readonly perSecond?: number;
};

export type Measured = {
  readonly perSecond: number;
  readonly requests: number;
  /** The median and the 99th percentile of the time until the response is complete, in ms; null if the program does not report them. */
  readonly latency: Latency | null;
  /** Processor time that measuring took on the proxy's core, in seconds; nothing by default. */
  readonly onProxyCore?: number;
};
export type Latency = {
  readonly p50: number;
  readonly p99: number;
  /** The share of requests that the machine delayed, and that are left out (0 to 1); null if that is not known, and none is left out. */
  readonly delayed: number | null;
};

/** A program that loads a port. @throws if any response was not as expected. */
export type Tool = (port: number, load: LoadOptions) => Promise<Measured>;
