import type { Scope } from '../../../../shared/placeholders/names.ts';
import { isConstant, type Placeholder, type TemplatePart, templateParts } from '../../../../shared/placeholders/template.ts';
import type { EvaluatedRequest } from './evaluated-request.ts';
import { type AnswerFacts, BOUNDED, compilePlaceholder, type PlaceholderContext, type Value } from './placeholders.ts';

/** The value of a text for a request; null if it is too long, or unsafe where it is used. */
export type Evaluate = (x: EvaluatedRequest, answer: AnswerFacts) => string | null;

/** A text, compiled. Constant texts cost nothing per request. */
export type Text =
  | { readonly constant: string }
  | {
      readonly constant: null;
      readonly evaluate: Evaluate;
      /** Whether a client can make it fail. */
      readonly mayFail: boolean;
    };

/** How values become part of a text. */
export type TemplateUse = PlaceholderContext & {
  readonly scope: Scope;
  /** Bytes. */
  readonly longest: number;
  /** Characters that the resulting text must not contain; null if all are allowed. */
  readonly unsafe: RegExp | null;
  /** Makes the value of a placeholder fit for the text. */
  readonly encode?: (value: string, placeholder: Placeholder) => string;
};

/** The maximum length of a field's value that has placeholders (bytes): that of a request's whole head. */
export const LONGEST_FIELD_VALUE = 16_384;
/** Control characters; CR, LF and NUL would split a field or a message (RFC 9110 5.5). */
export const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Compiles a text that validation has accepted; one character per byte. */
export function compileText(text: string, use: TemplateUse): Text {
  const parts = templateParts(text, use.scope);
  if (isConstant(parts)) return { constant: parts.map((part) => ('text' in part ? part.text : '')).join('') };
  return compileParts(parts, use);
}

/** The same for the parts of a text. */
export function compileParts(parts: readonly TemplatePart[], use: TemplateUse): Extract<Text, { constant: null }> {
  const { longest, unsafe, encode } = use;
  const pieces = parts.map((part): string | Value => {
    if ('text' in part) return part.text;
    const value = compilePlaceholder(part.placeholder, use);
    return encode === undefined ? value : (x, answer) => encode(value(x, answer), part.placeholder);
  });
  const evaluate: Evaluate = (x, answer) => {
    let whole = '';
    for (const piece of pieces) {
      whole += typeof piece === 'string' ? piece : piece(x, answer);
      if (whole.length > longest) return null;
    }
    return unsafe?.test(whole) ? null : whole;
  };
  return { constant: null, evaluate, mayFail: parts.some((part) => 'placeholder' in part && !isBounded(part.placeholder)) };
}

/** What an upstream has sent is not the client's. */
const isBounded = ({ name }: Placeholder): boolean => BOUNDED.has(name) || name.startsWith('http.response.');
