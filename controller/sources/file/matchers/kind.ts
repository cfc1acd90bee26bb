import type { PlainCondition } from '../../../../shared/condition.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { NAME_TOKEN } from '../../../../shared/values/token.ts';

/** A condition being read. */
export type PlainDraft = { -readonly [Member in keyof PlainCondition]: PlainCondition[Member] };

export type Refuse = (word: Word, why: string) => void;

/** One kind of matcher: its form, and what its words, at least one, add to the condition. */
export type Kind = { readonly form: string; read(args: readonly Word[], draft: PlainDraft, refuse: Refuse): void };

/** Fields that end at the proxy or are rewritten by it: hop-by-hop fields (RFC 9110 7.6.1), and claims about the client. */
const UNSEEN =
  /^(?:connection|content-length|expect|forwarded|http2-settings|keep-alive|proxy(?:-.*)?|te|trailer|transfer-encoding|upgrade|x-forwarded-.*|x-real-ip|x-request-id)$/i;

export const isToken = (text: string): boolean => NAME_TOKEN.test(text);

/** Why a header field can't be matched; undefined if it can. */
export function fieldProblem(name: string): string | undefined {
  if (!isToken(name)) return 'a header name consists of letters, digits and hyphens';
  if (!UNSEEN.test(name)) return undefined;
  const advice = /^upgrade$/i.test(name) ? '; WebSockets need no matcher' : '';
  return `the proxy removes or replaces this field, so it cannot be matched${advice}`;
}
