import { connect } from 'node:net';
import { inaccessible, isDenied } from '../../../shared/runtime/http/unix-socket.ts';
import { STEP_MS, SUCCESSOR_START_MS, type Upgraded, type UpgradeRequest, type VersionOf } from '../../../shared/wire/takeover.ts';
import { CommandError } from '../command/command.ts';

/** Exit code if there is nothing to query, as for every such command. */
const NOBODY_EXIT = 5;
/** The start of the successor, and two more steps. */
const PATIENCE_MS = SUCCESSOR_START_MS + 2 * STEP_MS;

/** Requests that the data plane at a takeover socket is replaced, and waits for the outcome. @throws CommandError in one line. */
export async function requestUpgrade(path: string, launcher: string): Promise<Upgraded> {
  const request: UpgradeRequest = { launcher };
  const answer = answerIn(await answerOf(path, `${JSON.stringify({ upgrade: request })}\n`));
  if (isVersion(answer?.upgraded?.old) && isVersion(answer.upgraded.new)) return answer.upgraded as Upgraded;
  const reason = answer?.refused?.reason;
  if (typeof reason !== 'string') throw new CommandError(`the process at ${path} exited without reporting a result`);
  if (reason.startsWith('there is no "upgrade"'))
    throw new CommandError('the running version is too old for upgrades: restart it once, and later upgrades will work');
  throw new CommandError(reason);
}

function answerOf(path: string, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    let there = false;
    const socket = connect(path, () => {
      there = true;
      socket.write(question);
    });
    socket.setEncoding('utf8').setTimeout(PATIENCE_MS, () => socket.destroy(new Error(`no answer within ${PATIENCE_MS / 1_000} s`)));
    socket.on('data', (piece: string) => {
      text += piece;
    });
    socket.once('end', () => resolve(text));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (there) return resolve(text);
      if (isDenied(error)) return reject(new CommandError(`${inaccessible(path)}; run as the user who runs the data plane, or as root`));
      const why = error.code === 'ENOENT' || error.code === 'ECONNREFUSED' ? 'nothing is listening' : error.message;
      reject(
        new CommandError(
          `no running data plane to replace: ${path}: ${why}; specify another state directory with --state-dir`,
          NOBODY_EXIT,
        ),
      );
    });
  });
}

type Answer = { readonly upgraded?: { readonly old?: unknown; readonly new?: unknown }; readonly refused?: { readonly reason?: unknown } };

function answerIn(text: string): Answer | null {
  try {
    return JSON.parse(text) as Answer | null;
  } catch {
    // Something else listens there, or it has exited.
    return null;
  }
}

function isVersion(value: unknown): value is VersionOf {
  return typeof value === 'object' && value !== null && 'version' in value && 'pid' in value;
}
