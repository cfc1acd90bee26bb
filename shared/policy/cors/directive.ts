import { type DirectiveContext, firstOf, type Grammar } from '../../config-file/directive.ts';
import { type OptionSyntax, optionOf } from '../../config-file/option-line.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseSeconds } from '../../values/duration.ts';
import { TOKEN } from '../../values/token.ts';
import { ANY_ORIGIN, parseOrigin } from './origin.ts';

export const MAX_NAMES = 100;
/** A day: no browser caches a preflight response for longer. */
export const MAX_AGE_SECS = 86_400;
export const DEFAULTS = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  headers: ['*'],
  maxAgeSecs: 600,
} as const;

type Cors = {
  wildcard?: 'one' | 'many' | undefined;
  origins: string[];
  methods: string[];
  headers: string[];
  expose: string[];
  credentials: boolean;
  max_age_secs: number;
};
type Option = OptionSyntax & {
  read(args: readonly Word[], cors: Cors, report: DirectiveContext['report']): void;
};

const named = (member: 'methods' | 'headers' | 'expose', form: string, upper = false): Option => ({
  form,
  least: 1,
  read(words, cors, { error }) {
    cors[member] = [];
    for (const word of words) {
      if (!TOKEN.test(word.text)) error(word, `${member} ${quote(word.text)}: a name consists of letters, digits and hyphens`);
      else if (cors[member].length === MAX_NAMES) return error(word, `${member} has at most ${MAX_NAMES} names`);
      else cors[member].push(upper ? word.text.toUpperCase() : word.text);
    }
  },
});

const OPTIONS: Readonly<Record<string, Option>> = {
  methods: named('methods', 'methods <METHOD> [<METHOD> …]', true),
  headers: named('headers', 'headers <Name> [<Name> …]'),
  expose: named('expose', 'expose <Name> [<Name> …]'),
  credentials: {
    form: 'credentials',
    read([word], cors, { error }) {
      if (word) error(word, 'credentials takes no argument');
      cors.credentials = true;
    },
  },
  wildcard: {
    form: 'wildcard one|many',
    least: 1,
    read([word, extra], cors, { error }) {
      if (extra) error(extra, 'wildcard has one argument: write one or many');
      else if (word?.text === 'one' || word?.text === 'many') cors.wildcard = word.text;
      else if (word) error(word, `wildcard ${quote(word.text)}: write one or many`);
    },
  },
  max_age: {
    form: 'max_age <duration>',
    least: 1,
    read([word, extra], cors, { error }) {
      const age = parseSeconds(word?.text ?? '', MAX_AGE_SECS);
      if (extra) error(extra, 'max_age has one duration');
      else if (age.ok) cors.max_age_secs = age.value;
      else if (word) error(word, `max_age ${quote(word.text)}: ${age.reason}`);
    },
  },
};

export const corsDirective: Grammar<{ cors?: Cors | null | undefined }> = {
  name: 'cors',
  otherNames: ['access_control'],
  form: 'cors <origin> [<origin> …] [{ … }]',
  args: [1, MAX_NAMES],
  block: 'optional',
  repeats: false,
  read({ args, block }, part, { report, expanded }) {
    const { methods, headers, maxAgeSecs } = DEFAULTS;
    const cors: Cors = {
      origins: [],
      methods: [...methods],
      headers: [...headers],
      expose: [],
      credentials: false,
      max_age_secs: maxAgeSecs,
    };
    part.cors = cors;
    for (const word of args) {
      const origin = parseOrigin(word.text);
      if (origin.ok) cors.origins.push(origin.value);
      else report.error(word, `cors ${quote(word.text)}: ${origin.reason}`);
    }
    const seen: Word[] = [];
    for (const line of block ? expanded(block).lines : []) optionOf('cors', line, OPTIONS, seen, report)?.read(line.args, cors, report);
    const credentials = firstOf(seen, 'credentials');
    if (credentials && cors.origins.includes(ANY_ORIGIN))
      report.error(credentials, 'credentials can’t be allowed to every origin: name them instead of *');
  },
};
