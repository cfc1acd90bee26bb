import * as z from 'zod';
import { parseAccessLog } from '../../values/log-output.ts';
import type { PolicyDescription } from '../policy.ts';
import { logDirective } from './directive.ts';

const output = z.string().transform((text, issues) => {
  const parsed = parseAccessLog(text);
  if (parsed.ok) return parsed.value;
  issues.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});

const members = {
  log: z
    .preprocess((value) => (value === true ? 'on' : value === false ? 'off' : value), output)
    .optional()
    .describe(
      'Where the requests of this site are logged: "on" (where all requests are, or standard output), "off", "stdout", or the absolute path of a .log or .json file. Absent: where all requests are.',
    ),
};

/** It has no label, because a container must not choose files of the machine. */
export const log: PolicyDescription<typeof members> = {
  members,
  directive: logDirective,
  unknownLabels: { words: ['log', 'logs', 'accesslog', 'logging'], advice: 'no label does this: start the data plane with --access-log' },
};
