import { readClientAuthorities } from '../../certificates/client-authorities.ts';
import type { DirectiveContext } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';

/** Its form in the block of `tls`. */
export const CLIENT_CA = 'client_ca <file>';

export function readClientCa(
  word: Word,
  part: { client_auth?: { ca: string } | null | undefined },
  { report, textOf, now }: DirectiveContext,
): void {
  const text = textOf(word);
  const authorities = text.ok ? readClientAuthorities(text.value) : text;
  if (!authorities.ok) return report.error(word, `client_ca ${quote(word.text)}: ${authorities.reason}`);
  const { notAfter, text: ca } = authorities.value;
  if (notAfter <= now)
    report.warn(word, `client_ca ${quote(word.text)}: an authority in it expired on ${new Date(notAfter).toISOString().slice(0, 10)}`);
  part.client_auth = { ca };
}
