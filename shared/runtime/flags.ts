import { closest } from '../closest.ts';
import { ENV_PREFIX, NAME } from '../name.ts';
import type { Parsed } from '../values/parsed.ts';

/**
 * The flags of a command, defined in one table per command. Every flag has an environment variable (`--http-port` is `SLUICE_HTTP_PORT`);
 * a flag takes precedence over the environment. The same table prints `--help`.
 */
export type Flag<T = unknown> = {
  /** Without the dashes: `http-port`. */
  readonly name: string;
  /** Absent: it takes a value. `switch` takes none, `optional` may stand alone, `list` may be repeated. */
  readonly kind?: 'switch' | 'optional' | 'list';
  /** The placeholder for the value in `--help`: `PORT`, `HOST:PORT`. */
  readonly placeholder?: string;
  readonly help: string;
  /** Only shown in `--help`; the code that reads the flag applies it. */
  readonly default?: string;
  /** Reads the value; the reason of a refusal is printed on stderr. */
  readonly parse?: (text: string) => Parsed<T>;
  /** Its value is not quoted in errors. */
  readonly secret?: true;
  /** Planned and documented, but rejected until it is implemented. */
  readonly unavailable?: true;
};

/** A mistake on the command line: one line on stderr, exit code 2. */
export class UsageError extends Error {
  readonly exitCode: number = 2;
}

export type FlagValue = { readonly value: unknown; readonly origin: 'flag' | 'environment' };
export type Flags = {
  /** The given values by flag name. A switch is a boolean, a list an array, `optional` without a value `true`. */
  readonly given: ReadonlyMap<string, FlagValue>;
  readonly positionals: readonly string[];
  readonly help: boolean;
};

const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
]);

/** @throws UsageError naming the flag or variable and what it accepts. */
export function readFlags(
  command: string,
  table: readonly Flag[],
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Flags {
  const byName = new Map(table.map((flag) => [flag.name, flag]));
  const given = new Map<string, FlagValue>();
  const positionals: string[] = [];
  const fail = (what: string): never => {
    throw new UsageError(`${NAME} ${command}: ${what}`);
  };
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string;
    if (word === '--help' || word === '-h') return { given, positionals, help: true };
    if (word === '--') {
      positionals.push(...argv.slice(at + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      positionals.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const name = word.slice(2, equals < 0 ? undefined : equals);
    const flag = word.startsWith('--') ? byName.get(name) : undefined;
    if (!flag) return fail(unknownFlag(word, table));
    if (flag.unavailable) return fail(`--${name} is not available yet`);
    let text: string | undefined = equals < 0 ? undefined : word.slice(equals + 1);
    if (flag.kind === 'switch') {
      const value = SWITCH_WORDS.get(text ?? 'true');
      if (value === undefined) return fail(`--${name} takes true or false, not "${text}"`);
      given.set(name, { value, origin: 'flag' });
      continue;
    }
    const next = argv[at + 1];
    if (text === undefined && next !== undefined && !next.startsWith('--')) {
      text = next;
      at++;
    }
    if (text === undefined || text === '') {
      if (flag.kind === 'optional' && text === undefined) given.set(name, { value: true, origin: 'flag' });
      else return fail(`--${name} needs a value (${flag.placeholder ?? 'VALUE'})`);
      continue;
    }
    const value = readValue(flag, `--${name}`, text, fail);
    const earlier = given.get(name)?.value;
    given.set(name, {
      value: flag.kind === 'list' ? [...((earlier as unknown[] | undefined) ?? []), ...(value as unknown[])] : value,
      origin: 'flag',
    });
  }
  for (const flag of table) {
    const variable = variableOf(flag.name);
    const text = env[variable];
    if (text === undefined || text === '') continue;
    const value = readVariable(flag, variable, text, fail);
    if (!given.has(flag.name)) given.set(flag.name, { value, origin: 'environment' });
  }
  return { given, positionals, help: false };
}

export const variableOf = (flag: string): string => `${ENV_PREFIX}${flag.toUpperCase().replaceAll('-', '_')}`;

function readVariable(flag: Flag, variable: string, text: string, fail: (what: string) => never): unknown {
  if (flag.unavailable) return fail(`${variable} is set, but --${flag.name} is not available yet`);
  const word = SWITCH_WORDS.get(text);
  if (flag.kind === 'switch') return word ?? fail(`${variable} takes 1, true, 0 or false, not "${text}"`);
  if (flag.kind === 'optional' && word !== undefined) return word;
  return readValue(flag, variable, text, fail);
}

function readValue(flag: Flag, given: string, text: string, fail: (what: string) => never): unknown {
  const read = (part: string): unknown => {
    if (!flag.parse) return part;
    const parsed = flag.parse(part);
    return parsed.ok ? parsed.value : fail(`${given}${flag.secret ? '' : ` "${part}"`}: ${parsed.reason}`);
  };
  return flag.kind === 'list' ? text.split(',').map((part) => read(part.trim())) : read(text);
}

/** Says that `word`, which begins with a hyphen, is no flag, with the closest flag if there is one. */
export function unknownFlag(word: string, table: readonly Pick<Flag, 'name'>[]): string {
  const [written = ''] = word.split('=', 1);
  const names = table.map(({ name }) => name);
  const close = closest(written.replace(/^--?/, ''), names);
  return `unknown flag ${written}${close === undefined ? '' : ` (did you mean --${close}?)`}`;
}

/** The body of `--help`: one line per flag, with its environment variable. Flags that are not available yet are left out. */
export function helpOf(all: readonly Flag[]): string {
  const table = all.filter(({ unavailable }) => !unavailable);
  const heads = table.map((flag) => {
    const placeholder = flag.placeholder ?? 'VALUE';
    return flag.kind === 'switch'
      ? `--${flag.name}`
      : flag.kind === 'optional'
        ? `--${flag.name} [${placeholder}]`
        : `--${flag.name} ${placeholder}`;
  });
  const width = Math.max(0, ...heads.map((head) => head.length));
  const lines = table.map((flag, index) => {
    const notes = [flag.default === undefined ? '' : `default ${flag.default}`, variableOf(flag.name)].filter(Boolean).join('; ');
    return `  ${(heads[index] as string).padEnd(width)}  ${flag.help} (${notes})`;
  });
  return lines.join('\n');
}
