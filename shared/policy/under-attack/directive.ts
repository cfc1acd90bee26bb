import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { type OptionSyntax, optionOf } from '../../config-file/option-line.ts';
import { quote } from '../../config-file/quote.ts';
import { isMatcher, type Word } from '../../config-file/word.ts';
import { parseSeconds } from '../../values/duration.ts';
import { parseRate } from '../../values/rate.ts';
import { BOT_NAMES, type BotName, isBotName } from './bots.ts';
import { CLEARANCE, DIFFICULTY } from './bounds.ts';

export const MAX_EXCEPTIONS = 50;

type Challenge = {
  auto_rps?: number | undefined;
  difficulty?: number | undefined;
  clearance_secs?: number | undefined;
  except?: Condition[] | undefined;
  bots?: BotName[] | undefined;
};
type ChallengeMembers = { under_attack?: boolean; challenge?: Challenge | null | undefined };
type Option = OptionSyntax & { read(args: readonly Word[], challenge: Challenge, name: Word, reading: DirectiveContext): void };

const OPTIONS: Readonly<Record<string, Option>> = {
  except: {
    form: 'except @<name> [@<name> …]',
    least: 1,
    repeats: true,
    read(words, challenge, name, { report, conditionFor }) {
      for (const word of words) {
        const condition = isMatcher(word) ? conditionFor('except', word) : undefined;
        if (condition) challenge.except = [...(challenge.except ?? []), condition];
        else if (!isMatcher(word)) report.error(word, `except ${quote(word.text)}: write the name of a matcher, as in @api path /api/*`);
      }
      if ((challenge.except?.length ?? 0) > MAX_EXCEPTIONS) report.error(name, `under_attack has at most ${MAX_EXCEPTIONS} exceptions`);
    },
  },
  bots: {
    form: 'bots on|off|<name> [<name> …]',
    least: 1,
    read(words, challenge, _, { report }) {
      const [first, second] = words;
      if (first?.text === 'on' || first?.text === 'off') {
        if (second) return report.error(second, `${quote(second.text)} is one argument too many: write bots ${first.text}`);
        if (first.text === 'off') challenge.bots = [];
        return;
      }
      const bots = new Set<BotName>();
      for (const { text, ...place } of words)
        if (isBotName(text)) bots.add(text);
        else report.error(place, `bots ${quote(text)}${didYouMean(text, BOT_NAMES) || `: there are ${BOT_NAMES.join(', ')}`}`);
      challenge.bots = [...bots];
    },
  },
  difficulty: {
    form: 'difficulty <bits>',
    read([word, extra], challenge, name, { report }) {
      const bits = Number(word?.text);
      if (!word || extra) report.error(extra ?? name, 'write difficulty <bits>');
      else if (!/^\d{1,2}$/.test(word.text) || bits < DIFFICULTY.least || bits > DIFFICULTY.most)
        report.error(
          word,
          `difficulty ${quote(word.text)}: a number from ${DIFFICULTY.least} to ${DIFFICULTY.most}; each more doubles the work`,
        );
      else challenge.difficulty = bits;
    },
  },
  clearance: {
    form: 'clearance <duration>',
    read([word, extra], challenge, name, { report }) {
      const time = parseSeconds(word?.text ?? '', CLEARANCE.most);
      if (!word || extra) report.error(extra ?? name, 'write clearance <duration>');
      else if (!time.ok) report.error(word, `clearance ${quote(word.text)}: ${time.reason}`);
      else if (time.value < CLEARANCE.least) report.error(word, `clearance ${quote(word.text)}: ${CLEARANCE.least}s at least`);
      else challenge.clearance_secs = time.value;
    },
  },
};
const MODES = ['on', 'off', 'auto'] as const;

export const underAttackDirective: Grammar<ChallengeMembers> = {
  name: 'under_attack',
  otherNames: ['challenge', 'captcha'],
  form: 'under_attack on|off [{ … }], or under_attack auto <n>/s [{ … }]',
  args: [1, 2],
  block: 'optional',
  repeats: false,
  read({ args: [mode, rate], block }, part, reading) {
    const { report } = reading;
    if (!mode) return;
    if (!MODES.some((known) => known === mode.text))
      return report.error(mode, `under_attack ${quote(mode.text)}${didYouMean(mode.text, MODES) || ': write on, off or auto <n>/s'}`);
    const challenge: Challenge = {};
    part.under_attack = mode.text === 'on';
    if (mode.text === 'auto') readThreshold(mode, rate, challenge, report);
    else if (rate) report.error(rate, `${quote(rate.text)} is one argument too many: write under_attack ${mode.text}`);
    const seen: Word[] = [];
    for (const line of block ? reading.expanded(block).lines : [])
      optionOf('under_attack', line, OPTIONS, seen, report)?.read(line.args, challenge, line.name, reading);
    if (Object.keys(challenge).length > 0) part.challenge = challenge;
  },
};

function readThreshold(mode: Word, word: Word | undefined, challenge: Challenge, report: DirectiveContext['report']): void {
  if (!word) return report.error(mode, 'auto needs the rate at which it begins: write under_attack auto <n>/s');
  const rate = parseRate(word.text);
  if (!rate.ok) report.error(word, `auto ${quote(word.text)}: ${rate.reason}`);
  else if (rate.value.period !== 'second') report.error(word, `auto ${quote(word.text)}: write the rate per second, as in 500/s`);
  else challenge.auto_rps = rate.value.requests;
}
