/** What the example of each command does. They are run in this order, next to one Sluicefile. */
export type ExampleOutcome = {
  readonly command: string;
  /** A long-running process; it is ready when it has printed this. */
  readonly serves?: RegExp;
  readonly code?: number;
  readonly prints?: RegExp;
};

export const EXAMPLE_OUTCOMES: readonly ExampleOutcome[] = [
  { command: 'validate', prints: /^Config valid\.\n$/ },
  { command: 'fmt', prints: /^$/ },
  { command: 'adapt', prints: /"domain": "shop\.example"/ },
  {
    command: 'dataplane',
    serves: /"msg":"data plane started"/,
  },
  {
    command: 'diff',
    code: 3,
    prints: /^\+ shop\.example/m,
  },
  {
    command: 'controller',
    serves: /"added":1,.*"msg":"routes applied"/,
  },
  { command: 'routes', prints: /^shop\.example +responds 200/m },
  { command: 'explain', prints: /answered by respond: 200/ },
  { command: 'status', prints: /^controller +connected/m },
  { command: 'reload', prints: /^Nothing changed/ },
  { command: 'certificates', prints: /^There are no certificates/ },
  { command: 'dashboard', serves: /^The dashboard is at http:/ },
  { command: 'upgrade', prints: /handed over to/ },
  {
    command: 'run',
    serves: /"added":1,.*"msg":"routes applied"/,
  },
  { command: 'hash-password', prints: /^\$2b\$\d\d\$\S{53}\n$/ },
  { command: 'completion', prints: /^$/ },
  { command: 'version', prints: /^sluice \d/ },
];
