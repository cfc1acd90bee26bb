import { spawn } from 'node:child_process';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { codeOf } from '../../../../shared/runtime/error-code.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { IssueError } from '../issue-error.ts';
import type { DnsProvider } from './provider.ts';

/** Time limit for one run (ms). */
const RUN_MS = 120_000;
/** How much of its output is logged (characters). */
const MAX_OUTPUT = 4_096;
/** The environment variables passed to the hook. It is trusted, but does not need our secrets. */
const ENVIRONMENT = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'SSL_CERT_FILE', 'HTTPS_PROXY'];

type Action = 'present' | 'cleanup';
export type HookProviderTools = { readonly path: string; readonly clock: Clock; readonly log: Log };

/** Sets records with an external program: `PATH present|cleanup NAME VALUE`, one run at a time. */
export class HookProvider implements DnsProvider {
  private readonly tools: HookProviderTools;
  private last: Promise<unknown> = Promise.resolve();

  constructor(tools: HookProviderTools) {
    this.tools = tools;
  }

  add(name: string, value: string): Promise<void> {
    return this.inTurn('present', name, value);
  }

  remove(name: string, value: string): Promise<void> {
    return this.inTurn('cleanup', name, value);
  }

  private inTurn(action: Action, name: string, value: string): Promise<void> {
    const done = this.last.then(() => this.run(action, name, value));
    this.last = done.catch(() => undefined);
    return done;
  }

  private async run(action: Action, name: string, value: string): Promise<void> {
    const { path, log } = this.tools;
    const { ending, output } = await this.spawnAndWait([action, name, value]);
    const trimmed = output.trim();
    if (ending === null) {
      if (trimmed !== '') log.info({ hook: path, action, name, output: trimmed }, 'the DNS hook');
      return;
    }
    log.warn({ hook: path, action, name, output: trimmed }, `the DNS hook ${ending}`);
    const words = trimmed.split('\n').at(-1) ?? '';
    throw new IssueError('records', `the DNS hook (${path} ${action} ${name}) ${ending}${words === '' ? '' : `: ${words.slice(0, 200)}`}`);
  }

  /** `ending` is null on success. */
  private spawnAndWait(args: readonly string[]): Promise<{ ending: string | null; output: string }> {
    const { path, clock } = this.tools;
    return new Promise((resolve) => {
      // A separate process group, so that its children end with it.
      const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment(), detached: true });
      let output = '';
      let late = false;
      const keep = (text: string): void => {
        output = (output + text).slice(-MAX_OUTPUT);
      };
      child.stdout.setEncoding('utf8').on('data', keep);
      child.stderr.setEncoding('utf8').on('data', keep);
      const cancel = clock.after(RUN_MS, () => {
        late = true;
        if (child.pid !== undefined) endGroup(child.pid);
      });
      const end = (ending: string | null): void => {
        cancel();
        resolve({ ending, output });
      };
      child.on('error', (error) => end(`can't be run (${error.message})`));
      child.on('exit', (code, signal) => {
        // Processes that it leaves behind may keep the pipes open forever.
        child.stdout.destroy();
        child.stderr.destroy();
        if (late) end(`took longer than ${RUN_MS / 1_000} s`);
        else if (code === 0) end(null);
        else end(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`);
      });
    });
  }
}

const environment = (): Record<string, string> =>
  Object.fromEntries(ENVIRONMENT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // It may have just exited on its own.
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
