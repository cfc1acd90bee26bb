import { NAME } from './name.ts';

/** One shell example per command, as shown by `--help` and the reference page. A test runs them all in order. */
export const COMMAND_EXAMPLES: Readonly<Record<string, string>> = {
  run: `${NAME} run --config Sluicefile --http-port 8081 --state-dir ./other-state`,
  dataplane: `${NAME} dataplane --http-port 8080 --state-dir ./state --admin-socket ./state/admin.sock`,
  controller: `${NAME} controller --config Sluicefile --dataplane unix:./state/admin.sock`,
  upgrade: `${NAME} upgrade --state-dir ./state`,
  validate: `${NAME} validate --config Sluicefile`,
  fmt: `${NAME} fmt --config Sluicefile --check`,
  adapt: `${NAME} adapt --config Sluicefile`,
  diff: `${NAME} diff --config Sluicefile --state-dir ./state`,
  reload: `${NAME} reload --state-dir ./state`,
  routes: `${NAME} routes --state-dir ./state`,
  explain: `${NAME} explain shop.example/cart --state-dir ./state`,
  certificates: `${NAME} certificates --state-dir ./state`,
  status: `${NAME} status --state-dir ./state`,
  dashboard: `${NAME} dashboard --state-dir ./state --no-open`,
  'hash-password': `echo "correct horse" | ${NAME} hash-password`,
  completion: `${NAME} completion bash > ${NAME}.bash`,
  version: `${NAME} version`,
};

/** The end of a command's `--help`; empty without an example. */
export function exampleIn(command: string): string {
  const example = COMMAND_EXAMPLES[command];
  return example === undefined ? '' : `\nExample:\n  ${example}\n`;
}
