/** V8's flags for the request path. They are set when the main thread and its workers have loaded their code (shared/runtime/v8-flags.ts). */
export const TRAFFIC_FLAGS: readonly string[] = [
  // The request path is many small functions: with V8's own limits, a third of these (bytes of bytecode), too few of them are inlined.
  '--max-inlined-bytecode-size=1000',
  '--max-inlined-bytecode-size-cumulative=3000',
  // No object of the request path lives long. Those that V8 creates as old ones because earlier ones survived would only be freed by full
  // collections.
  '--no-allocation-site-pretenuring',
];
