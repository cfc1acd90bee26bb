import { quote, type Report } from './diagnostics.ts';
import { characters, type Place } from './word.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['{', '{'],
  ['n', '\n'],
  ['t', '\t'],
]);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const VARIABLE = /\{\$(?:([^{}]*)\})?/g;
const VARIABLE_OR_ESCAPE = /\{\$(?:([^{}]*)\})?|\\./gsu;

/**
 * Resolves `{$NAME}` and `{$NAME:default}`, and in a quoted string the escapes as well. A variable's value
 * is never split into words and never resolved again. `start` is the place of the text's first character.
 */
export function resolve(text: string, quoted: boolean, start: Place, env: Environment, report: Report): string {
  if (!text.includes('{$') && !(quoted && text.includes('\\'))) return text;
  // Places are asked for from left to right, so each is counted on from the last.
  let counted = 0;
  let column = start.column;
  return text.replace(quoted ? VARIABLE_OR_ESCAPE : VARIABLE, (whole: string, variable: string | undefined, index: number) => {
    const place = (): Place => {
      column += characters(text.slice(counted, index));
      counted = index;
      return { ...start, column };
    };
    if (whole.startsWith('\\')) return escaped(whole, place, report);
    if (variable !== undefined) return lookUp(variable, place, env, report);
    report.error(place(), 'the variable is not closed: write {$NAME} or {$NAME:default}');
    return whole;
  });
}

function escaped(whole: string, place: () => Place, report: Report): string {
  const meant = ESCAPES.get(whole.slice(1));
  if (meant === undefined)
    report.error(place(), `unknown escape ${quote(whole)}: write \\\\ for a backslash (known are \\" \\\\ \\{ \\n \\t)`);
  return meant ?? whole;
}

function lookUp(inner: string, place: () => Place, env: Environment, report: Report): string {
  const colon = inner.indexOf(':');
  const name = colon < 0 ? inner : inner.slice(0, colon);
  if (!NAME.test(name)) {
    report.error(place(), `${quote(name)} is no name of an environment variable: write {$NAME} or {$NAME:default}`);
    return '';
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value !== undefined) return value;
  if (colon >= 0) return inner.slice(colon + 1);
  report.error(place(), `the environment variable ${name} is not set: set it, or write {$${name}:default}`);
  return '';
}
