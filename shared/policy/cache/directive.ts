import type { Condition } from '../../condition.ts';
import type { DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { type OptionSyntax, optionOf } from '../../config-file/option-line.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseSeconds } from '../../values/duration.ts';
import type { KeySpec } from './key.ts';
import { KEY_FORM, readKey } from './key-line.ts';

/** A year (seconds). */
export const LONGEST_TTL = 31_536_000;
export const MAX_TTLS = 20;
/** The statuses of a `ttl` without any: errors may be over in a moment. */
export const USUAL_STATUSES = [200, 203, 204, 300, 301, 308] as const;

type Ttl = { secs: number; statuses: number[] };
type Spec = {
  ttls?: Ttl[] | undefined;
  stale_while_revalidate_secs?: number | undefined;
  stale_if_error_secs?: number | undefined;
  key?: KeySpec | undefined;
  bypass?: Condition | undefined;
};
type Option = OptionSyntax & { read(args: readonly Word[], spec: Spec, reading: DirectiveContext, name: Word): void };

const OPTIONS: Readonly<Record<string, Option>> = {
  ttl: {
    form: 'ttl <duration> [<status> …]',
    least: 1,
    repeats: true,
    read([time, ...statuses], spec, { report }, name) {
      if (!time) return;
      const secs = durationIn(time, 'ttl', report);
      const numbers = statuses.map((word) => statusIn(word, report));
      if (secs === 0) report.error(time, `ttl ${quote(time.text)}: it is at least 1s; for no cache, write cache off`);
      if (!secs || numbers.includes(null)) return;
      if ((spec.ttls?.length ?? 0) === MAX_TTLS) return report.error(name, `cache has at most ${MAX_TTLS} lines with ttl`);
      const named = numbers.length === 0 ? [...USUAL_STATUSES] : (numbers as number[]);
      const twice = named.findIndex(
        (status, at) => named.indexOf(status) < at || spec.ttls?.some(({ statuses }) => statuses.includes(status)),
      );
      if (twice >= 0) return report.error(statuses[twice] ?? name, `ttl: status ${named[twice]} has a lifetime already; keep one of them`);
      spec.ttls = [...(spec.ttls ?? []), { secs, statuses: named }];
    },
  },
  stale_while_revalidate: {
    form: 'stale_while_revalidate <duration>',
    read: (args, spec, { report }, name) => {
      const secs = onlyDuration(args, 'stale_while_revalidate', report, name);
      if (secs !== null) spec.stale_while_revalidate_secs = secs;
    },
  },
  stale_if_error: {
    form: 'stale_if_error <duration>',
    read: (args, spec, { report }, name) => {
      const secs = onlyDuration(args, 'stale_if_error', report, name);
      if (secs !== null) spec.stale_if_error_secs = secs;
    },
  },
  key: {
    form: KEY_FORM,
    repeats: true,
    read(args, spec, { report }, name) {
      const key = readKey(args, spec.key ?? {}, report, name);
      if (key !== null) spec.key = key;
    },
  },
  bypass: {
    form: 'bypass @<matcher>',
    read([matcher, extra], spec, { report, conditionFor }, name) {
      if (!matcher || extra || !matcher.text.startsWith('@'))
        return report.error(extra ?? matcher ?? name, `write ${OPTIONS.bypass?.form}`);
      const condition = conditionFor('bypass', matcher);
      if (condition !== undefined) spec.bypass = condition;
    },
  },
};
const FORMS = Object.values(OPTIONS).map(({ form }) => form);
const FORM = 'cache [on|off|<duration>]';

export const cacheDirective: Grammar<{ cache?: Spec | null | undefined }> = {
  name: 'cache',
  otherNames: ['proxy_cache', 'http_cache'],
  form: `${FORM}, or a block with ${FORMS.join(', ')}`,
  args: [0, 1],
  block: 'optional',
  repeats: false,
  read({ name, args: [word], block }, part, reading) {
    const { report } = reading;
    if (word && block) return report.error(word, `cache takes either an argument or a block: write ${FORM}, or ttl in the block`);
    const spec: Spec = {};
    part.cache = spec;
    if (word?.text === 'off') {
      part.cache = null;
      return;
    }
    if (word && word.text !== 'on') {
      const time = parseSeconds(word.text, LONGEST_TTL);
      if (time.ok && time.value > 0) spec.ttls = [{ secs: time.value, statuses: [...USUAL_STATUSES] }];
      else report.error(word, `cache ${quote(word.text)}: write on, off or a duration such as 10m`);
    }
    const seen: Word[] = [];
    for (const line of block ? reading.expanded(block).lines : [])
      optionOf('cache', line, OPTIONS, seen, report)?.read(line.args, spec, reading, line.name);
    if (block && spec.ttls === undefined && seen.length === 0) report.error(name, 'cache has an empty block: write cache alone');
  },
};

function onlyDuration([time, extra]: readonly Word[], option: string, report: DirectiveContext['report'], name: Word): number | null {
  if (!time || extra) {
    report.error(extra ?? name, `write ${OPTIONS[option]?.form}`);
    return null;
  }
  return durationIn(time, option, report);
}

function durationIn(word: Word, option: string, report: DirectiveContext['report']): number | null {
  const time = parseSeconds(word.text, LONGEST_TTL);
  if (time.ok) return time.value;
  report.error(word, `${option} ${quote(word.text)}: ${time.reason}`);
  return null;
}

function statusIn(word: Word, report: DirectiveContext['report']): number | null {
  const status = /^[2-5]\d\d$/.test(word.text) ? Number(word.text) : 0;
  if (status !== 0 && status !== 206 && status !== 304) return status;
  report.error(word, `ttl ${quote(word.text)}: a status is a number from 200 to 599, and neither 206 nor 304`);
  return null;
}
