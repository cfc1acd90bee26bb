import { didYouMean } from '../../closest.ts';
import type { DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseRanges } from '../../private-ranges.ts';
import type { Cidr } from '../../values/cidr.ts';
import { parseCountry } from '../../values/country.ts';

export const MAX_RANGES = 1_000;
export const MAX_COUNTRIES = 300;
const LISTS = ['allow', 'deny', 'allow_countries', 'deny_countries'] as const;
const LINE = 'allow|deny <ip-or-range> [<ip-or-range> …] or allow_countries|deny_countries <code> [<code> …]';

type Filter = {
  allow?: Cidr[] | undefined;
  deny?: Cidr[] | undefined;
  allow_countries?: string[] | undefined;
  deny_countries?: string[] | undefined;
};

export const ipFilterDirective: Grammar<{ ip_filter?: Filter | null | undefined }> = {
  name: 'ip_filter',
  otherNames: ['allow', 'deny', 'ip_allow_list'],
  form: `ip_filter ${LINE}, or a block with one of these per line`,
  args: [2, Number.POSITIVE_INFINITY],
  block: 'instead',
  repeats: false,
  read({ name, args: [list, ...ranges], block }, part, { report }) {
    const filter: Filter = {};
    if (block?.lines.length === 0) report.error(name, `ip_filter is empty and lets everyone in: write ${LINE}, one per line`);
    for (const line of block?.lines ?? []) {
      if (line.block) report.error(line.block.open, `an ip_filter line takes no block: write ${LINE}`);
      readList(line.name, line.args, filter, report);
    }
    if (list && !block) readList(list, ranges, filter, report);
    // Also with mistakes, so that a mistake never leaves a protected site open.
    part.ip_filter = filter;
  },
};

function readList(name: Word, words: readonly Word[], filter: Filter, report: DirectiveContext['report']): void {
  const list = LISTS.find((known) => known === name.text);
  if (list === undefined) return report.error(name, `ip_filter ${quote(name.text)}${didYouMean(name.text, LISTS) || `: write ${LINE}`}`);
  if (words.length === 0) return report.error(name, `${list} is missing an argument: write ${LINE}`);
  if (list === 'allow_countries' || list === 'deny_countries') return readCountries(list, words, filter, report);
  const found = filter[list] ?? [];
  for (const word of words) {
    const ranges = parseRanges(word.text);
    if (ranges.ok) found.push(...ranges.value);
    else report.error(word, `${list} ${quote(word.text)}: ${ranges.reason}`);
  }
  if (found.length > 0) filter[list] = found;
  if (found.length > MAX_RANGES) report.error(name, `ip_filter has at most ${MAX_RANGES} ranges to ${list}`);
}

function readCountries(
  list: 'allow_countries' | 'deny_countries',
  words: readonly Word[],
  filter: Filter,
  report: DirectiveContext['report'],
): void {
  const found = new Set(filter[list]);
  for (const word of words) {
    const country = parseCountry(word.text);
    if (country.ok) found.add(country.value);
    else report.error(word, `${list} ${quote(word.text)}: ${country.reason}`);
  }
  if (found.size > 0) filter[list] = [...found];
}
