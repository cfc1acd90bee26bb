import { type Certificate, readCertificate } from '../../../../shared/certificates/certificate.ts';
import { type Directive, type DirectiveBlock, firstOf } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { lineOf, type Word } from '../../../../shared/config-file/word.ts';
import { CLIENT_CA, readClientCa } from '../../../../shared/policy/client-auth/client-ca.ts';
import { CADDY_TLS } from './caddy-words.ts';
import type { Context, Rule, SiteDraft } from './rule.ts';

const FORMS = 'tls off, tls internal or tls <certificate> <key>';

export const tls: Rule<SiteDraft> = {
  name: 'tls',
  form: `tls [off|internal|<certificate> <key>] [{ ${CLIENT_CA} }]`,
  scopes: ['site'],
  args: [0, 2],
  block: 'optional',
  repeats: false,
  read({ name, args: [first, second], block }, draft, context) {
    const { report } = context;
    if (!first && !block) return report.error(name, `tls is missing an argument: write ${FORMS}, or a block with ${CLIENT_CA}`);
    if (first && second) readPair(first, second, draft, context);
    else if (first) readWord(first, draft, context);
    if (block && first?.text === 'off' && !second)
      return report.error(block.open, 'tls off takes no block: without HTTPS clients cannot present certificates');
    if (block) readBlock(name, block, draft, context);
  },
};

function readWord(word: Word, draft: SiteDraft, { report }: Context): void {
  if (word.text === 'off' || word.text === 'internal') draft.members.https = word.text;
  else if (word.text.includes('@')) report.error(word, 'tls takes no e-mail address: write it as the global email');
  else report.error(word, `tls ${quote(word.text)}: write ${FORMS}`);
}

/** The files are read again whenever they change. */
function readPair(certificate: Word, key: Word, draft: SiteDraft, { report, textOf, now }: Context): void {
  // Also with errors, so that no certificate is ordered for a site that supplies its own.
  draft.members.https = 'provided';
  const texts = [certificate, key].map((word) => {
    const text = textOf(word);
    if (!text.ok) report.error(word, `tls ${quote(word.text)}: ${text.reason}`);
    return text.ok ? text.value : null;
  });
  const [chainText, keyText] = texts;
  if (chainText == null || keyText == null) return;
  const places = { certificate: quote(certificate.text), privateKey: quote(key.text) };
  const read = readCertificate(chainText, keyText, { places });
  if (!read.ok) return report.error(read.reason.startsWith(`${places.privateKey}:`) ? key : certificate, `tls ${read.reason}`);
  draft.pair = { word: certificate, pair: read.value };
  warnOfTimes(certificate, read.value, now, report);
}

function warnOfTimes(word: Word, { notBefore, notAfter }: Certificate, now: number, report: Context['report']): void {
  const on = (at: number): string => new Date(at).toISOString().slice(0, 10);
  if (notAfter <= now) report.warn(word, `tls ${quote(word.text)}: it expired on ${on(notAfter)}; provide a newer one`);
  else if (notBefore > now) report.warn(word, `tls ${quote(word.text)}: it is not valid before ${on(notBefore)}; check the clock, or wait`);
}

function readBlock(name: Word, block: DirectiveBlock, draft: SiteDraft, context: Context): void {
  const { report } = context;
  const { lines } = context.expanded(block);
  if (lines.length === 0) report.error(name, `the block of tls is empty: write ${CLIENT_CA}`);
  const seen: Word[] = [];
  for (const line of lines) readOption(line, seen, draft, context);
}

function readOption({ name, args: [word, extra], block }: Directive, seen: Word[], draft: SiteDraft, context: Context): void {
  const { report } = context;
  if (name.text !== 'client_ca')
    return report.error(name, `tls has no ${quote(name.text)}: ${CADDY_TLS.get(name.text) ?? `write ${CLIENT_CA}`}`);
  const earlier = firstOf(seen, name.text);
  seen.push(name);
  if (earlier) return report.error(name, `client_ca is already in ${lineOf(earlier, name)}; put all authorities into one file`);
  if (block) return report.error(block.open, `client_ca takes no block: write ${CLIENT_CA}`);
  if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for client_ca: write ${CLIENT_CA}`);
  if (!word) return report.error(name, `client_ca is missing an argument: write ${CLIENT_CA}`);
  readClientCa(word, draft.members, context);
}
