import type { CommandEntry } from './command/command.ts';

/** In the order of `--help`. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  run: { summary: 'run data plane and controller on one machine, supervised', raw: async () => (await import('./run/run.ts')).run },
  dataplane: { summary: 'run only the data plane', raw: async () => (await import('./run/processes.ts')).dataplane },
  controller: { summary: 'run only the controller', raw: async () => (await import('./run/processes.ts')).controller },
  upgrade: { summary: 'replace the running version without downtime', load: async () => (await import('./upgrade/upgrade.ts')).upgrade },
  validate: { summary: 'check a config file', load: async () => (await import('./validate.ts')).validate },
  fmt: { summary: 'format a config file', load: async () => (await import('./fmt.ts')).fmt },
  adapt: { summary: 'print the routes of a config file as JSON', load: async () => (await import('./adapt.ts')).adapt },
  diff: { summary: 'show what a config file would change', load: async () => (await import('./diff/diff.ts')).diff },
  reload: { summary: 're-read the config file and wait for the result', load: async () => (await import('./reload.ts')).reload },
  routes: { summary: 'list routes and where they come from', load: async () => (await import('./routes.ts')).routes },
  explain: {
    summary: 'show what a request for HOST[/PATH] would get, and why',
    load: async () => (await import('./explain/explain.ts')).explain,
  },
  certificates: { summary: 'list certificates and their renewal', load: async () => (await import('./certificates.ts')).certificates },
  status: { summary: 'show problems and the current state', load: async () => (await import('./status.ts')).status },
  dashboard: { summary: 'open the dashboard in a browser', load: async () => (await import('./dashboard/dashboard.ts')).dashboard },
  'hash-password': {
    summary: 'hash a password for basic_auth',
    load: async () => (await import('./hash-password/hash-password.ts')).hashPassword,
  },
  completion: {
    summary: 'print completion for bash, zsh or fish',
    load: async () => (await import('./completion/completion.ts')).completionOf(COMMANDS),
  },
  version: { summary: 'print version, Node version and commit', load: async () => (await import('./version.ts')).version },
};
