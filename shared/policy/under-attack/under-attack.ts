import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { LABEL_PREFIX } from '../../name.ts';
import { MAX_RATE } from '../../values/rate.ts';
import type { PolicyDescription } from '../policy.ts';
import { BOT_NAMES } from './bots.ts';
import { CLEARANCE, DIFFICULTY } from './bounds.ts';
import { MAX_EXCEPTIONS, underAttackDirective } from './directive.ts';

const challenge = z
  .object({
    auto_rps: z
      .int()
      .min(1)
      .max(MAX_RATE)
      .optional()
      .describe(
        'Requests per second to the site at which the challenge begins by itself; it ends one to two minutes after the last such second.',
      ),
    difficulty: z
      .int()
      .min(DIFFICULTY.least)
      .max(DIFFICULTY.most)
      .optional()
      .describe(`Leading zero bits of the hash that a browser has to find; each more doubles the work. ${DIFFICULTY.usual} by default.`),
    clearance_secs: z
      .int()
      .min(CLEARANCE.least)
      .max(CLEARANCE.most)
      .optional()
      .describe(`Seconds for which a solved challenge counts; ${CLEARANCE.usual} by default.`),
    bots: z
      .array(z.enum(BOT_NAMES))
      .max(BOT_NAMES.length)
      .optional()
      .describe('The search engines that are not challenged once their address is verified; all that are known by default.'),
    except: z.array(conditionSchema).max(MAX_EXCEPTIONS).optional().describe('Requests that are not challenged.'),
  })
  .meta({ title: 'challenge', about: 'When browsers are challenged, and how.' });

const members = {
  under_attack: z.boolean().default(false).describe('Whether browsers have to solve a challenge before they see the site.'),
  challenge: challenge.nullable().optional().describe('The options of `under_attack`; null or absent: the defaults.'),
};

const ON = ['on', 'true', 'yes', '1'];
const OFF = ['off', 'false', 'no', '0'];

export const underAttack: PolicyDescription<typeof members> = {
  members,
  directive: underAttackDirective,
  labels: [
    {
      word: 'under_attack',
      form: 'on|off',
      otherwise: 'off',
      example: 'on',
      read(value, part) {
        const text = value.toLowerCase();
        if (!ON.includes(text) && !OFF.includes(text)) return 'write on or off';
        part.under_attack = ON.includes(text);
        return undefined;
      },
    },
  ],
  unknownLabels: { words: ['challenge', 'captcha', 'waf'], advice: `write ${LABEL_PREFIX}under_attack=on` },
};
