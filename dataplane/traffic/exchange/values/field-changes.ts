import type { Scope } from '../../../../shared/placeholders/names.ts';
import type { HeaderSpec } from '../../../../shared/route.ts';
import { foldedName } from '../../codec/http1/field-names.ts';
import type { EvaluatedRequest } from './evaluated-request.ts';
import type { AnswerFacts, PlaceholderContext } from './placeholders.ts';
import { CONTROLS, compileText, type Evaluate, LONGEST_FIELD_VALUE } from './template.ts';

/** One change of a field section, as a route has it. */
export type FieldChangeSpec = Pick<HeaderSpec, 'name' | 'value' | 'op' | 'find'>;

/** The changes of a block to the fields of a message, in their order. */
export type FieldChanges = {
  /** The lines afterwards. A change whose value is unsafe is left out; null if `strict`. */
  apply(lines: string, x: EvaluatedRequest, answer: AnswerFacts, strict: boolean): string | null;
  /** Whether a change determines a field, regardless of its value before. The name is in lower case, and folded if names are confusable. */
  decides(name: string): boolean;
};

/** Changes a list of lines without their line ends. @returns false if its value is unsafe. */
type ApplyChange = (lines: string[], x: EvaluatedRequest, answer: AnswerFacts) => boolean;
type CompiledChange = { readonly decides: (name: string) => boolean; readonly act: ApplyChange };

/** How the names of fields are treated: those of a response, or those of a request to an upstream. */
export type FieldNameRules = {
  /** Names, in lower case, that no `*` removes. */
  readonly kept: ReadonlySet<string>;
  /** Whether a name is the same with another character instead of a hyphen, as for upstreams that turn names into variables. */
  readonly confusable: boolean;
};

const RESPONSE_NAMES: FieldNameRules = { kept: new Set(), confusable: false };

export function compileChanges(
  specs: readonly FieldChangeSpec[],
  scope: Scope,
  context: PlaceholderContext,
  names: FieldNameRules = RESPONSE_NAMES,
): FieldChanges {
  const changes = specs.map((spec) => compileChange(spec, scope, context, names));
  return {
    apply(text, x, answer, strict) {
      const lines = text.split('\r\n');
      // The last line end is followed by nothing.
      lines.pop();
      for (const { act } of changes) if (!act(lines, x, answer) && strict) return null;
      return lines.length === 0 ? '' : `${lines.join('\r\n')}\r\n`;
    },
    decides: (name) => changes.some((change) => change.decides(name)),
  };
}

function compileChange(
  { name, value, op, find }: FieldChangeSpec,
  scope: Scope,
  context: PlaceholderContext,
  names: FieldNameRules,
): CompiledChange {
  const lower = name.toLowerCase();
  const is = lineTest(lower, names.confusable);
  const own = names.confusable ? foldedName(lower) : lower;
  const decides = (other: string): boolean => other === own;
  if (value === null) {
    if (!lower.startsWith('*') && !lower.endsWith('*')) return { decides, act: (lines) => remove(lines, is) };
    const matches = namesOf(lower, names.confusable ? foldedName : (other) => other);
    const isRemoved = (line: string): boolean => {
      const other = nameOf(line);
      return matches(other) && !names.kept.has(other);
    };
    return { decides: matches, act: (lines) => remove(lines, isRemoved) };
  }
  const evaluate = valueFor(value, scope, context);
  if (op === 'replace') return { decides: () => false, act: replacing(is, find ?? '', evaluate) };
  const set: ApplyChange = (lines, x, answer) => {
    const text = evaluate(x, answer);
    if (text === null) return false;
    if (op !== 'add') remove(lines, is);
    lines.push(`${name}: ${text}`);
    return true;
  };
  if (op !== 'default') return { decides, act: set };
  return { decides, act: (lines, x, answer) => lines.some(is) || set(lines, x, answer) };
}

function valueFor(value: string, scope: Scope, context: PlaceholderContext): Evaluate {
  const text = compileText(value, { scope, longest: LONGEST_FIELD_VALUE, unsafe: CONTROLS, ...context });
  const { constant } = text;
  return constant === null ? text.evaluate : () => constant;
}

/** `: `, which every line of a message has. */
const AFTER_NAME = 2;

/** Replaces all occurrences of a text in the values of a field. A field that would become too long is removed. */
function replacing(is: LineTest, find: string, evaluate: Evaluate): ApplyChange {
  return (lines, x, answer) => {
    let by: string | null | undefined;
    for (const [index, line] of lines.entries()) {
      if (!is(line)) continue;
      const name = nameOf(line);
      if (!line.includes(find, name.length + AFTER_NAME)) continue;
      by ??= evaluate(x, answer);
      if (by === null) return false;
      const pieces = line.slice(name.length + AFTER_NAME).split(find);
      const length = line.length + (pieces.length - 1) * (by.length - find.length);
      lines[index] = length > LONGEST_FIELD_VALUE + name.length ? '' : `${line.slice(0, name.length + AFTER_NAME)}${pieces.join(by)}`;
    }
    return remove(lines, (line) => line === '');
  };
}

function remove(lines: string[], matches: LineTest): true {
  let kept = 0;
  for (const line of lines) if (!matches(line)) lines[kept++] = line;
  lines.length = kept;
  return true;
}

/** Whether a line is a field of one name. */
type LineTest = (line: string) => boolean;

const COLON = 0x3a;
const HYPHEN = 0x2d;

/** Creates no strings for the names of other fields, since a message has many. */
function lineTest(lower: string, confusable: boolean): LineTest {
  const own = confusable ? foldedName(lower) : lower;
  return (line) => {
    if (line.charCodeAt(own.length) !== COLON) return false;
    for (let at = 0; at < own.length; at++) {
      const code = line.charCodeAt(at);
      const small = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
      const wanted = own.charCodeAt(at);
      if (small !== wanted && !(confusable && wanted === HYPHEN && !isAlphanumeric(small))) return false;
    }
    return true;
  };
}

const isAlphanumeric = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);

const nameOf = (line: string): string => line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase();

/** The names that match a name with `*` at its ends. Names are compared as `spelled`. */
function namesOf(lower: string, spelled: (name: string) => string): (name: string) => boolean {
  const [open, close] = [lower.startsWith('*'), lower.endsWith('*')];
  const core = spelled(lower.slice(open ? 1 : 0, close && lower.length > 1 ? -1 : undefined));
  if (open && close) return (name) => spelled(name).includes(core);
  if (open) return (name) => spelled(name).endsWith(core);
  return (name) => spelled(name).startsWith(core);
}
