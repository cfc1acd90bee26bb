import { type Placeholder, templateParts } from '../../../../shared/placeholders/template.ts';
import { foldedName } from '../../codec/http1/field-names.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import { withoutOws } from '../../codec/http1/protocols.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { hasSeveral, queryOf } from '../../exchange/values/query.ts';

/*
 * A request may say something several times, and its upstream use another value than the one that is counted here.
 */

/**
 * The value of a field that a request has once; null without it, and with several. Fields whose names upstreams may confuse with it count
 * as well: `X_Api_Key`.
 */
export function fieldOnce(name: string): (fields: string) => string | null {
  const field = name.toLowerCase();
  const folded = foldedName(field);
  return (fields) => {
    const [line, other] = namesakes(fields, folded);
    const isIt = line !== undefined && other === undefined && line.slice(0, field.length).toLowerCase() === field;
    return isIt ? withoutOws(line.slice(field.length + 1)) : null;
  };
}

const COLON = 0x3a;

/** Whether a request says several times what a placeholder of this text stands for. */
export function compileDoubts(text: string): (x: EvaluatedRequest) => boolean {
  const tests = templateParts(text, 'request').flatMap((part) => ('placeholder' in part ? (doubtOf(part.placeholder) ?? []) : []));
  return (x) => tests.some((isDoubtful) => isDoubtful(x));
}

/** null for what a request says once. */
function doubtOf({ name, argument }: Placeholder): ((x: EvaluatedRequest) => boolean) | null {
  switch (name) {
    case 'http.request.header.': {
      const folded = foldedName(argument);
      const once = fieldOnce(argument);
      return ({ fields }) => once(fields) === null && namesakes(fields, folded).length > 0;
    }
    case 'http.request.cookie.':
      return ({ fields }) => {
        const pairs = fieldsIn(fields, 'cookie').flatMap((line) => line.split(';'));
        return pairs.filter((pair) => pair.includes(argument) && nameOf(pair).trim() === argument).length > 1;
      };
    case 'http.request.uri.query.':
      return ({ target }) => hasSeveral(queryOf(target), argument);
    default:
      return null;
  }
}

/** The lines whose names have this folded form. */
const namesakes = (fields: string, folded: string): string[] =>
  fields.split('\r\n').filter((line) => line.charCodeAt(folded.length) === COLON && foldedName(line.slice(0, folded.length)) === folded);

/** The part before `=`. */
const nameOf = (pair: string): string => pair.split('=', 1)[0] ?? '';
