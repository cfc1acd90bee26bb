import { connect } from 'node:net';
import { type Description, STEP_MS } from '../../../shared/wire/takeover.ts';
import { CommandError } from '../command.ts';

/** Nobody there, as for every command that asks a running process. */
const NOBODY_EXIT = 5;

/** Asks the data plane behind a takeover socket how it was started. @throws CommandError in one line. */
export async function describeRunning(path: string): Promise<Description> {
  const text = await answerOf(path, '{"describe":{}}\n');
  const description = descriptionIn(text);
  if (description === undefined) throw new CommandError(`the process behind ${path} did not say how it was started`, NOBODY_EXIT);
  return description;
}

function answerOf(path: string, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(path, () => socket.write(question));
    socket.setEncoding('utf8').setTimeout(STEP_MS, () => socket.destroy(new Error('no answer')));
    socket.on('data', (piece: string) => {
      text += piece;
    });
    socket.once('end', () => resolve(text));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'ENOENT' || error.code === 'ECONNREFUSED' ? 'nobody is there' : error.message;
      reject(
        new CommandError(`no running data plane to replace: ${path}: ${why}; name another state directory with --state-dir`, NOBODY_EXIT),
      );
    });
  });
}

function descriptionIn(text: string): Description | undefined {
  try {
    const { description } = JSON.parse(text) as { description?: Partial<Description> };
    if (typeof description?.pid !== 'number' || !Array.isArray(description.command)) return undefined;
    return description as Description;
  } catch {
    // Something else listens there.
    return undefined;
  }
}
