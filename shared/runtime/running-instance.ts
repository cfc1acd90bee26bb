import { connect } from 'node:net';
import { join } from 'node:path';
import { type Description, TAKEOVER_SOCKET } from '../wire/takeover.ts';

/** One that takes longer to answer (ms) is left to whoever finds the table on disk locked. */
const PATIENCE_MS = 2_000;

/** Asks the data plane that runs with a state directory who it is. @returns null where nobody answers. */
export function runningInstance(stateDir: string): Promise<Description | null> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(join(stateDir, TAKEOVER_SOCKET), () => socket.write('{"describe":{}}\n'));
    socket.setEncoding('utf8').setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on('data', (piece: string) => {
      text += piece;
    });
    // Nothing there, or what a dead process left: nobody. The close that follows says so.
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(descriptionIn(text)));
  });
}

function descriptionIn(text: string): Description | null {
  try {
    const { description } = JSON.parse(text) as { description?: Partial<Description> };
    return typeof description?.pid === 'number' ? (description as Description) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** What a second process on one state directory is told. */
export function describeTakenBy(stateDir: string, { version, pid, since }: Description): string {
  const first = `version ${version} as process ${pid}${since === undefined ? '' : `, since ${since}`}`;
  return `${stateDir} is in use: ${first}; end that one, replace it with upgrade, or name another directory with --state-dir PATH`;
}
