import { didYouMean } from '../../closest.ts';
import { type DirectiveContext, firstOf, type Grammar } from '../../config-file/directive.ts';
import { type OptionSyntax, optionOf } from '../../config-file/option-line.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseSeconds } from '../../values/duration.ts';
import { NAME_TOKEN } from '../../values/token.ts';
import { COPIED_TWICE, COPYABLE, faultOfCopied } from '../forward-auth/directive.ts';
import { faultOfSource, type KeySource, LONGEST_URL } from './key-source.ts';
import { type JwtKey, readKeys } from './keys.ts';

export const DEFAULT_SKEW_SECS = 60;
export const MAX_SKEW_SECS = 300;
export const MAX_VALUES = 50;
/** Claims, issuers and audiences: without white space and control characters. */
export const TEXT = { pattern: /^[^\s\p{Cc}]{1,256}$/u, reason: 'at most 256 characters, without white space and control characters' };
/** The logs hide the values of parameters with these names. */
export const QUERY_NAME = {
  pattern: /^(?=.*(?:token|jwt))[a-z0-9_-]{1,64}$/i,
  reason: 'the name must contain "token" or "jwt", so that logs hide the value: write query access_token',
};

export type TokenSource = { kind: 'header' | 'cookie' | 'query'; name?: string | undefined };
type Jwt = {
  keys?: JwtKey[];
  key_source?: KeySource;
  issuers: string[];
  audiences: string[];
  require: { claim: string; values: string[] }[];
  copy_claims: { claim: string; to: string }[];
  from: TokenSource[];
  clock_skew_secs: number;
};
type Context = Pick<DirectiveContext, 'report' | 'textOf'>;
type Option = OptionSyntax & { read(args: readonly Word[], jwt: Jwt, context: Context, option: Word): void };

const texts = (into: 'issuers' | 'audiences') => (args: readonly Word[], jwt: Jwt, context: Context, option: Word) => {
  for (const word of args) if (isText(word, option, context)) jwt[into].push(word.text);
};

const KEYS_FORM = 'keys <file>|<URL> [private]';

const OPTIONS: Readonly<Record<string, Option>> = {
  keys: {
    form: KEYS_FORM,
    least: 1,
    read([word, ...rest], jwt, { report, textOf }) {
      if (!word) return;
      if (/^https?:\/\//i.test(word.text)) return readSource(word, rest, jwt, report);
      if (rest[0]) return report.error(rest[0], `${quote(rest[0].text)} is one argument too many for keys: write ${KEYS_FORM}`);
      const text = textOf(word);
      const keys = text.ok ? readKeys(text.value) : text;
      if (!keys.ok) return report.error(word, `keys ${quote(word.text)}: ${keys.reason}`);
      jwt.keys = keys.value;
    },
  },
  issuer: { form: 'issuer <iss> [<iss> …]', least: 1, repeats: true, read: texts('issuers') },
  audience: { form: 'audience <aud> [<aud> …]', least: 1, repeats: true, read: texts('audiences') },
  require: {
    form: 'require <claim> [<value> …]',
    least: 1,
    repeats: true,
    read([claim, ...values], jwt, context, option) {
      if (claim && [claim, ...values].every((word) => isText(word, option, context)))
        jwt.require.push({ claim: claim.text, values: values.map(({ text }) => text) });
    },
  },
  copy_claims: {
    form: 'copy_claims <claim>><Name> …',
    least: 1,
    repeats: true,
    read(args, jwt, { report }) {
      for (const word of args) {
        const [, claim = '', to = ''] = /^([^>]*)>([^>]*)$/.exec(word.text) ?? [];
        const refuse = (why: string): void => report.error(word, `copy_claims ${quote(word.text)}: ${why}`);
        if (!TEXT.pattern.test(claim) || !NAME_TOKEN.test(to)) refuse('write a claim and the name of a header, with > between them');
        else if (!COPYABLE.accepts(to)) refuse(COPYABLE.reason);
        else if (faultOfCopied([...jwt.copy_claims, { to }])) refuse(COPIED_TWICE);
        else jwt.copy_claims.push({ claim, to });
      }
    },
  },
  from: {
    form: 'from header|cookie <name>|query <name>',
    least: 1,
    repeats: true,
    read([kind, name, extra], jwt, { report }, option) {
      const wrong = (place: Word) => report.error(place, `${quote(place.text)}: write ${OPTIONS.from?.form}`);
      if (!kind) return;
      if (extra) return wrong(extra);
      if (kind.text === 'header') return name ? wrong(name) : void jwt.from.push({ kind: 'header' });
      if (kind.text !== 'cookie' && kind.text !== 'query') return wrong(kind);
      if (!name) return wrong(option);
      if (kind.text === 'cookie' && !NAME_TOKEN.test(name.text)) return wrong(name);
      if (kind.text === 'query' && !QUERY_NAME.pattern.test(name.text))
        return report.error(name, `query ${quote(name.text)}: ${QUERY_NAME.reason}`);
      jwt.from.push({ kind: kind.text, name: name.text });
    },
  },
  clock_skew: {
    form: 'clock_skew <duration>',
    least: 1,
    read([word, extra], jwt, { report }) {
      if (!word) return;
      if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for clock_skew: write clock_skew <duration>`);
      const secs = parseSeconds(word.text, MAX_SKEW_SECS);
      if (!secs.ok) return report.error(word, `clock_skew ${quote(word.text)}: ${secs.reason}`);
      jwt.clock_skew_secs = secs.value;
    },
  },
};

export const jwtDirective: Grammar<{ jwt?: Jwt | null | undefined }> = {
  name: 'jwt',
  otherNames: ['auth_jwt', 'jwtauth'],
  form: 'jwt { keys <file>|<URL> }',
  args: [0, 0],
  block: 'required',
  repeats: false,
  read({ name, block }, part, { report, textOf, expanded }) {
    const jwt: Jwt = {
      issuers: [],
      audiences: [],
      require: [],
      copy_claims: [],
      from: [],
      clock_skew_secs: DEFAULT_SKEW_SECS,
    };
    // Also with mistakes, so that a mistake never leaves a protected site open.
    part.jwt = jwt;
    const seen: Word[] = [];
    for (const line of block ? expanded(block).lines : [])
      optionOf('jwt', line, OPTIONS, seen, report)?.read(line.args, jwt, { report, textOf }, line.name);
    if (jwt.from.length === 0) jwt.from.push({ kind: 'header' });
    if (!firstOf(seen, 'keys')) report.error(name, `jwt needs the keys that verify tokens: write ${KEYS_FORM} in its block`);
    for (const list of [jwt.issuers, jwt.audiences, jwt.require, jwt.copy_claims, jwt.from, ...jwt.require.map(({ values }) => values)])
      if (list.length > MAX_VALUES) report.error(name, `jwt accepts at most ${MAX_VALUES} values of each kind`);
  },
};

function readSource(word: Word, [privately, extra]: readonly Word[], jwt: Jwt, report: DirectiveContext['report']): void {
  if (privately && privately.text !== 'private')
    return report.error(privately, `${quote(privately.text)}${didYouMean(privately.text, ['private']) || `: write ${KEYS_FORM}`}`);
  if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for keys: write ${KEYS_FORM}`);
  const source = { url: word.text, private: privately !== undefined };
  const fault = word.text.length > LONGEST_URL ? `at most ${LONGEST_URL} characters` : faultOfSource(source);
  if (fault === undefined) jwt.key_source = source;
  else report.error(word, `keys ${quote(word.text)}: ${fault}`);
}

function isText(word: Word, option: Word, { report }: Context): boolean {
  if (TEXT.pattern.test(word.text)) return true;
  report.error(word, `${option.text} ${quote(word.text)}: ${TEXT.reason}`);
  return false;
}
