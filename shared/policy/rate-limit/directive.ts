import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { readTemplate } from '../../config-file/placeholder.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseRate, type RatePeriod } from '../../values/rate.ts';
import { NAME_TOKEN } from '../../values/token.ts';
import { faultOfRateKey, LONGEST_KEY } from './key.ts';

export const MAX_LIMITS = 100;
const MEMBERS = { second: 'rps', minute: 'rpm', hour: 'rph' } as const;
const FORM = 'rate_limit <n>/s|m|h [header <Name>|key <text>]';
const KINDS = ['header', 'key'] as const;

type Limit = { rps?: number; rpm?: number; rph?: number; header?: string; key?: string; match?: Condition };
type RateLimitMembers = { rate_limit_rps?: number | null; rate_limits?: Limit[] | undefined };

export const rateLimitDirective: Grammar<RateLimitMembers> = {
  name: 'rate_limit',
  otherNames: ['limit_req', 'ratelimit'],
  form: FORM,
  args: [1, 3],
  block: 'none',
  repeats: true,
  matcher: 'before',
  read({ name, args: [word, kind, value] }, part, { report }, condition) {
    if (!word) return;
    const rate = parseRate(word.text);
    if (!rate.ok) return report.error(word, `rate_limit ${quote(word.text)}: ${rate.reason}`);
    const { requests, period } = rate.value;
    const by = kind === undefined ? {} : readBy(kind, value, report);
    if (by === null) return;
    if (part.rate_limits?.length === MAX_LIMITS) return report.error(word, `a block has at most ${MAX_LIMITS} rate_limit lines`);
    if (condition === null && isRepeated(part, period, by))
      return report.error(name, `there is a rate_limit per ${period} already; keep one of them, or put a matcher before it`);
    if (condition === null && period === 'second' && kind === undefined) part.rate_limit_rps = requests;
    else {
      const limit = { [MEMBERS[period]]: requests, ...by, ...(condition && { match: condition }) };
      part.rate_limits = [...(part.rate_limits ?? []), limit];
    }
  },
};

/** Whose requests are counted together; by address if it is empty. */
type By = Pick<Limit, 'header' | 'key'>;

/** @returns null if there is a mistake, which is reported. */
function readBy(kind: Word, value: Word | undefined, { error }: DirectiveContext['report']): By | null {
  if (!KINDS.some((known) => known === kind.text))
    error(kind, `rate_limit ${quote(kind.text)}${didYouMean(kind.text, KINDS) || `: write ${FORM}`}`);
  else if (value === undefined)
    error(kind, `${kind.text} is missing ${kind.text === 'key' ? 'a text' : 'the name of a field'}: write ${FORM}`);
  else if (kind.text === 'key') return readKey(value, error);
  else if (!NAME_TOKEN.test(value.text)) error(value, `header ${quote(value.text)}: a header name consists of letters, digits and hyphens`);
  else return { header: value.text };
  return null;
}

function readKey(word: Word, error: DirectiveContext['report']['error']): By | null {
  const template = readTemplate(word, 'request');
  const fault = 'fault' in template ? template.fault : faultOfRateKey(template.text);
  if ('text' in template && fault === undefined && template.text.length <= LONGEST_KEY) return { key: template.text };
  error(word, `key ${quote(word.text)}: ${fault ?? `at most ${LONGEST_KEY} characters`}`);
  return null;
}

function isRepeated({ rate_limit_rps, rate_limits = [] }: RateLimitMembers, period: RatePeriod, { header, key }: By): boolean {
  if (period === 'second' && header === undefined && key === undefined) return rate_limit_rps != null;
  const member = MEMBERS[period];
  return rate_limits.some(
    (limit) =>
      limit.match === undefined &&
      limit[member] !== undefined &&
      limit.key === key &&
      limit.header?.toLowerCase() === header?.toLowerCase(),
  );
}
