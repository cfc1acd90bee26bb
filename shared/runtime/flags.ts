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

/** The exit code of a mistake on the command line. Service managers start a program that ends with any other code again. */
export const USAGE_EXIT = 2;

/** A mistake on the command line, or another reason why a program can't run as it was started: one line on stderr, and an exit code. */
export class UsageError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = USAGE_EXIT) {
    super(message);
    this.exitCode = exitCode;
  }
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

type Fail = (what: string) => never;
type Environment = Readonly<Record<string, string | undefined>>;

/** @throws UsageError naming the flag or variable and what it accepts. */
export function readFlags(command: string, table: readonly Flag[], argv: readonly string[], env: Environment): Flags {
  const fail: Fail = (what) => {
    throw new UsageError(`${NAME} ${command}: ${what}`);
  };
  const flags = readArguments(table, argv, fail);
  if (!flags.help) addVariables(flags.given, table, env, fail);
  return flags;
}

function readArguments(table: readonly Flag[], argv: readonly string[], fail: Fail): Flags & { readonly given: Map<string, FlagValue> } {
  const byName = new Map(table.map((flag) => [flag.name, flag]));
  const given = new Map<string, FlagValue>();
  const positionals: string[] = [];
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
    const next = argv[at + 1];
    const isNextItsValue = equals < 0 && flag.kind !== 'switch' && next !== undefined && !next.startsWith('--');
    if (isNextItsValue) at++;
    const value = readArgument(flag, isNextItsValue ? next : equals < 0 ? undefined : word.slice(equals + 1), fail);
    const earlier = given.get(name)?.value;
    given.set(name, {
      value: flag.kind === 'list' ? [...((earlier as unknown[] | undefined) ?? []), ...(value as unknown[])] : value,
      origin: 'flag',
    });
  }
  return { given, positionals, help: false };
}

/** The value of a flag on the command line; `text` is undefined if none is written. */
function readArgument(flag: Flag, text: string | undefined, fail: Fail): unknown {
  const { name, kind, placeholder = 'VALUE' } = flag;
  if (kind === 'switch') return SWITCH_WORDS.get(text ?? 'true') ?? fail(`--${name} takes true or false, not "${text}"`);
  if (kind === 'optional' && text === undefined) return true;
  return text === undefined || text === '' ? fail(`--${name} needs a value (${placeholder})`) : readValue(flag, `--${name}`, text, fail);
}

/** Flags of the command line take precedence, but a wrong variable is an error all the same. */
function addVariables(given: Map<string, FlagValue>, table: readonly Flag[], env: Environment, fail: Fail): void {
  for (const flag of table) {
    const variable = variableOf(flag.name);
    const text = env[variable];
    if (text === undefined || text === '') continue;
    const value = readVariable(flag, variable, text, fail);
    if (!given.has(flag.name)) given.set(flag.name, { value, origin: 'environment' });
  }
}

export const variableOf = (flag: string): string => `${ENV_PREFIX}${flag.toUpperCase().replaceAll('-', '_')}`;

function readVariable(flag: Flag, variable: string, text: string, fail: Fail): unknown {
  if (flag.unavailable) return fail(`${variable} is set, but --${flag.name} is not available yet`);
  const word = SWITCH_WORDS.get(text);
  if (flag.kind === 'switch') return word ?? fail(`${variable} takes 1, true, 0 or false, not "${text}"`);
  if (flag.kind === 'optional' && word !== undefined) return word;
  return readValue(flag, variable, text, fail);
}

function readValue(flag: Flag, given: string, text: string, fail: Fail): unknown {
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
