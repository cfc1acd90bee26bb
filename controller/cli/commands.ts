import type { Entry } from './command.ts';

/** In the order of `--help`. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { summary: 'data plane and controller on one machine, supervised', raw: async () => (await import('./run/run.ts')).run },
  dataplane: { summary: 'the data plane alone', raw: async () => (await import('./run/processes.ts')).dataplane },
  controller: { summary: 'the controller alone', raw: async () => (await import('./run/processes.ts')).controller },
  upgrade: { summary: 'replace the running version without a gap', load: async () => (await import('./upgrade/upgrade.ts')).upgrade },
  validate: { summary: 'check a config file', load: async () => (await import('./validate.ts')).validate },
  fmt: { summary: 'lay out a config file', load: async () => (await import('./fmt.ts')).fmt },
  adapt: { summary: 'print the routes of a config file as JSON', load: async () => (await import('./adapt.ts')).adapt },
  diff: { summary: 'what a config file would change', load: async () => (await import('./diff/diff.ts')).diff },
  reload: { summary: 're-read the config file, and wait for the outcome', load: async () => (await import('./reload.ts')).reload },
  routes: { summary: 'what is routed where, and who says so', load: async () => (await import('./routes.ts')).routes },
  explain: {
    summary: 'what a visitor of HOST[/PATH] would get, and why',
    load: async () => (await import('./explain/explain.ts')).explain,
  },
  certificates: { summary: 'certificates and their renewal', load: async () => (await import('./certificates.ts')).certificates },
  status: { summary: 'what is wrong now, and how things are', load: async () => (await import('./status.ts')).status },
  'hash-password': {
    summary: 'hash a password for basic_auth',
    load: async () => (await import('./hash-password/hash-password.ts')).hashPassword,
  },
  completion: {
    summary: 'completion for bash, zsh or fish',
    load: async () => (await import('./completion/completion.ts')).completionOf(COMMANDS),
  },
  version: { summary: 'version, Node version, commit', load: async () => (await import('./version.ts')).version },
};
