import type { Flag } from '../../../shared/runtime/flags.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { noArguments } from '../command/admin-query.ts';
import { type Command, CommandError, type Terminal } from '../command/command.ts';
import { Cancelled, hiddenLines } from './hidden-lines.ts';

/** bcrypt ignores the rest of a longer password (bytes). */
const LONGEST = 72;
/** Each step doubles the time of a guess. 12 takes about a quarter of a second. */
const DEFAULT_COST = 12;
const [MIN_COST, MAX_COST] = [10, 16];
const CANCELLED_EXIT = 130;

const COST_FLAG: Flag = {
  name: 'cost',
  placeholder: 'N',
  help: `bcrypt cost, ${MIN_COST} to ${MAX_COST}; each step doubles the time`,
  default: `${DEFAULT_COST}`,
  parse: parseCost,
};

export const hashPassword: Command = {
  usage: '[flags]',
  summary:
    'Prints the bcrypt hash of a password, for basic_auth. In a terminal it prompts for the password twice without showing it;\notherwise it reads one line from stdin.',
  flags: [COST_FLAG],
  run: async (flags, terminal) => {
    noArguments('hash-password', flags);
    const password = process.stdin.isTTY ? await typed(terminal) : await piped(process.stdin);
    const reason = problemOf(password);
    if (reason !== null) throw new CommandError(reason);
    const { hash } = await import('bcrypt');
    terminal.out(`${await hash(password, (flags.given.get('cost')?.value as number | undefined) ?? DEFAULT_COST)}\n`);
    return 0;
  },
};

function parseCost(text: string): Parsed<number> {
  const cost = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  return cost >= MIN_COST && cost <= MAX_COST ? accepted(cost) : refused(`the cost must be a number from ${MIN_COST} to ${MAX_COST}`);
}

function problemOf(password: string): string | null {
  if (password === '') return 'the password is empty';
  if (/[\r\n\0]/.test(password)) return 'a password must be a single line';
  const bytes = Buffer.byteLength(password);
  return bytes > LONGEST ? `the password has ${bytes} bytes; bcrypt uses only the first ${LONGEST}: choose a shorter one` : null;
}

/** All of stdin, without the line feed at the end. */
async function piped(input: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

/** @throws CommandError if the two differ, or input ends. */
async function typed(terminal: Terminal): Promise<string> {
  const lines = hiddenLines(process.stdin.setEncoding('utf8'));
  const next = async (prompt: string): Promise<string> => {
    terminal.err(prompt);
    const { value } = await lines.next();
    terminal.err('\n');
    return value ?? '';
  };
  try {
    const password = await next('Password: ');
    if ((await next('Again: ')) !== password) throw new CommandError('the passwords do not match');
    return password;
  } catch (error) {
    if (error instanceof Cancelled) throw new CommandError('cancelled', CANCELLED_EXIT);
    throw error;
  } finally {
    await lines.return(undefined);
    // The terminal stays open for other programs; this process does not wait for it.
    process.stdin.unref();
  }
}
