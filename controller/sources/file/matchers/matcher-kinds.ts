import { didYouMean } from '../../../../shared/closest.ts';
import type { FieldCondition } from '../../../../shared/condition.ts';
import { parsePathPart } from '../../../../shared/config-file/path-pattern.ts';
import { unquoted } from '../../../../shared/config-file/quote.ts';
import { MAX_PORTS as MAX_LISTENED } from '../../../../shared/limits.ts';
import { parseRanges } from '../../../../shared/private-ranges.ts';
import { parseDomain } from '../../../../shared/values/host.ts';
import { readPort } from '../../../../shared/values/port.ts';
import { fieldProblem, isToken, type Kind } from './kind.ts';
import { headerRegexp, pathRegexp, queryRegexp } from './regexp-kinds.ts';

const MAX_VALUES = 100;
const MAX_PORTS = 2 * MAX_LISTENED;
const MAX_METHODS = 50;
const MAX_FIELDS = 50;
const MAX_RANGES = 1_000;
const LONGEST_VALUE = 8_192;
const LONGEST_METHOD = 64;

const path: Kind = {
  form: 'path <path-pattern> [<path-pattern> …]',
  read(args, draft, refuse) {
    for (const word of args) {
      const pattern = parsePathPart(word.text);
      if (!pattern.ok) refuse(word, pattern.reason);
      else if (draft.path?.length === MAX_VALUES) return refuse(word, `a matcher has at most ${MAX_VALUES} paths`);
      else draft.path = [...(draft.path ?? []), pattern.value];
    }
  },
};

const method: Kind = {
  form: 'method <METHOD> [<METHOD> …]',
  read(args, draft, refuse) {
    for (const word of args) {
      if (!isToken(word.text) || word.text.length > LONGEST_METHOD) refuse(word, 'a method is a word like GET or POST');
      else if (draft.method?.length === MAX_METHODS) return refuse(word, `a matcher has at most ${MAX_METHODS} methods`);
      else draft.method = [...(draft.method ?? []), word.text.toUpperCase()];
    }
  },
};

const header: Kind = {
  form: 'header <Name> [<value>], or header !<Name>',
  read([name, value, extra], draft, refuse) {
    if (!name) return;
    const absent = name.style === 'bare' && name.text.startsWith('!');
    const field = absent ? name.text.slice(1) : name.text;
    const problem = fieldProblem(field);
    if (problem) return refuse(name, problem);
    if (extra) return refuse(extra, 'a header has one value per line: put it in quotes, or write another line for another value');
    if (value && absent) return refuse(value, `${unquoted(name.text)} is a header that must be absent, so it has no value`);
    if (value && value.text.length > LONGEST_VALUE) return refuse(value, `a value is at most ${LONGEST_VALUE} characters long`);
    if (value?.text.slice(1, -1).includes('*')) return refuse(value, '"*" is only allowed at the beginning or at the end of a value');
    const entry: FieldCondition = { name: field, values: value ? [value.text] : [], ...(absent && { absent: true }) };
    const isSame = (other: FieldCondition): boolean => other.name.toLowerCase() === field.toLowerCase();
    if (draft.header?.some((other) => isSame(other) && other.absent !== entry.absent))
      return refuse(name, 'a header is either absent or has a value: keep one of the two lines');
    const added = withValues(draft.header ?? [], entry, isSame);
    if (added === null) return refuse(name, `a matcher has at most ${MAX_FIELDS} headers with ${MAX_VALUES} values each`);
    draft.header = added;
  },
};

const query: Kind = {
  form: 'query <name>=<value> [<name>=<value> …], with * for any value',
  read(args, draft, refuse) {
    for (const word of args) {
      const equals = word.text.indexOf('=');
      if (equals <= 0) return refuse(word, 'a parameter is written name=value, or name=* for any value');
      if (word.text.length > LONGEST_VALUE) return refuse(word, `a parameter is at most ${LONGEST_VALUE} characters long`);
      const [name, value] = [word.text.slice(0, equals), word.text.slice(equals + 1)];
      if (name.length > 1_024) return refuse(word, 'the name of a parameter is at most 1024 characters long');
      if (value !== '*' && value.includes('*')) return refuse(word, '"*" is only allowed as the whole value');
      const entry = { name, values: value === '*' ? [] : [value] };
      const added = withValues(draft.query ?? [], entry, (other) => other.name === name);
      if (added === null) return refuse(word, `a matcher has at most ${MAX_FIELDS} parameters with ${MAX_VALUES} values each`);
      draft.query = added;
    }
  },
};

const host: Kind = {
  form: 'host <domain> [<domain> …]',
  read(args, draft, refuse) {
    for (const word of args) {
      const domain = parseDomain(word.text);
      if (!domain.ok) refuse(word, domain.reason);
      else if (draft.host?.length === MAX_VALUES) return refuse(word, `a matcher has at most ${MAX_VALUES} hosts`);
      else draft.host = [...(draft.host ?? []), domain.value];
    }
  },
};

const PROTOCOLS = ['http', 'https'] as const;

const protocol: Kind = {
  form: 'protocol http|https',
  read([name, extra], draft, refuse) {
    const known = PROTOCOLS.find((protocol) => protocol === name?.text);
    if (extra) return refuse(extra, 'a request has one protocol: write http or https');
    if (name && !known) return refuse(name, `write http or https${didYouMean(name.text, PROTOCOLS)}`);
    if (known) draft.protocol = known;
  },
};

const port: Kind = {
  form: 'port <port> [<port> …]',
  read(args, draft, refuse) {
    for (const word of args) {
      const number = readPort(word.text);
      if (!number.ok) refuse(word, number.reason);
      else if (draft.port?.length === MAX_PORTS) return refuse(word, `a matcher has at most ${MAX_PORTS} ports`);
      else draft.port = [...(draft.port ?? []), number.value];
    }
  },
};

const ranges = (member: 'remote_ip' | 'local_ip'): Kind => ({
  form: `${member} <ip-or-range> [<ip-or-range> …]`,
  read(args, draft, refuse) {
    for (const word of args) {
      const read = parseRanges(word.text);
      if (!read.ok) refuse(word, read.reason);
      const all = [...(draft[member] ?? []), ...(read.ok ? read.value : [])];
      if (all.length > MAX_RANGES) return refuse(word, `a matcher has at most ${MAX_RANGES} ranges`);
      if (all.length > 0) draft[member] = all;
    }
  },
});

/**
 * Adds an entry, or its values to those of the same name: any of them matches, and no value matches any. Lists are short, so copying them
 * is cheap. null: there are too many.
 */
function withValues<Entry extends { readonly values: string[] }>(
  list: readonly Entry[],
  entry: Entry,
  isSame: (other: Entry) => boolean,
): Entry[] | null {
  const known = list.find(isSame);
  if (!known) return list.length === MAX_FIELDS ? null : [...list, entry];
  const values = known.values.length > 0 && entry.values.length > 0 ? [...known.values, ...entry.values] : [];
  return values.length > MAX_VALUES ? null : list.map((other) => (other === known ? { ...known, values } : other));
}

export const KINDS: Readonly<Record<string, Kind>> = {
  path,
  path_regexp: pathRegexp,
  method,
  host,
  protocol,
  port,
  header,
  header_regexp: headerRegexp,
  query,
  query_regexp: queryRegexp,
  remote_ip: ranges('remote_ip'),
  local_ip: ranges('local_ip'),
};
