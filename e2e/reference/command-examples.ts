/** One line of shell for each command, as its page shows it, and what it ends with. They are run in this order beside one Sluicefile. */
export type CommandExample = {
  readonly command: string;
  readonly line: string;
  /** A process that goes on; it is ready when it has said this. */
  readonly serves?: RegExp;
  readonly code?: number;
  readonly prints?: RegExp;
};

export const COMMAND_EXAMPLES: readonly CommandExample[] = [
  { command: 'validate', line: 'sluice validate --config Sluicefile', prints: /^Config valid\.\n$/ },
  { command: 'fmt', line: 'sluice fmt --config Sluicefile --check', prints: /^$/ },
  { command: 'adapt', line: 'sluice adapt --config Sluicefile', prints: /"domain": "shop\.example"/ },
  {
    command: 'dataplane',
    line: 'sluice dataplane --http-port 8080 --state-dir ./state --admin-socket ./state/admin.sock',
    serves: /"msg":"data plane started"/,
  },
  {
    command: 'diff',
    line: 'sluice diff --config Sluicefile --admin unix:./state/admin.sock',
    code: 3,
    prints: /^\+ shop\.example/m,
  },
  {
    command: 'controller',
    line: 'sluice controller --config Sluicefile --dataplane unix:./state/admin.sock',
    serves: /"added":1,.*"msg":"routes applied"/,
  },
  { command: 'routes', line: 'sluice routes --admin unix:./state/admin.sock', prints: /^shop\.example +responds 200/m },
  { command: 'explain', line: 'sluice explain shop.example/cart --admin unix:./state/admin.sock', prints: /answered by respond: 200/ },
  { command: 'status', line: 'sluice status --admin unix:./state/admin.sock', prints: /^controller +connected/m },
  { command: 'reload', line: 'sluice reload --admin unix:./state/admin.sock', prints: /^Nothing changed/ },
  { command: 'certificates', line: 'sluice certificates --admin unix:./state/admin.sock', prints: /^There are no certificates/ },
  { command: 'upgrade', line: 'sluice upgrade --state-dir ./state', prints: /handed over to/ },
  {
    command: 'run',
    line: 'sluice run --config Sluicefile --http-port 8081 --state-dir ./other-state',
    serves: /"added":1,.*"msg":"routes applied"/,
  },
  { command: 'hash-password', line: 'echo "correct horse" | sluice hash-password', prints: /^\$2b\$\d\d\$\S{53}\n$/ },
  { command: 'completion', line: 'sluice completion bash > sluice.bash', prints: /^$/ },
  { command: 'version', line: 'sluice version', prints: /^sluice \d/ },
];
