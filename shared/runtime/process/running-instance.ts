import { connect } from 'node:net';
import { join } from 'node:path';
import { NAME } from '../../name.ts';
import { type InstanceDescription, TAKEOVER_SOCKET } from '../../wire/takeover.ts';

/** Time limit for the response (ms). A slower process still holds the lock on the table, which is reported later. */
const PATIENCE_MS = 2_000;

/** Describes the data plane that is running with a state directory. @returns null if none responds. */
export function runningInstance(stateDir: string): Promise<InstanceDescription | null> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(join(stateDir, TAKEOVER_SOCKET), () => socket.write('{"describe":{}}\n'));
    socket.setEncoding('utf8').setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on('data', (piece: string) => {
      text += piece;
    });
    // No socket, or a stale one; the close event follows.
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(descriptionIn(text)));
  });
}

function descriptionIn(text: string): InstanceDescription | null {
  try {
    const { description } = JSON.parse(text) as { description?: Partial<InstanceDescription> };
    return typeof description?.pid === 'number' ? (description as InstanceDescription) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The error message for a second process with the same state directory. */
export function describeTakenBy(stateDir: string, { version, pid, since }: InstanceDescription): string {
  const first = `version ${version} as process ${pid}${since === undefined ? '' : `, since ${since}`}`;
  return `${stateDir} is in use: ${first}; stop it, replace it with "${NAME} upgrade", or choose another directory with --state-dir PATH`;
}
