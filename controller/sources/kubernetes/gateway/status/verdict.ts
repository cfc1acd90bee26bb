import type { WantedCondition } from '../../status/conditions.ts';

/** Whether a condition of an object is met, with the reason in the API's terms. */
export type Verdict = { readonly holds: boolean; readonly reason: string; readonly message: string };

export const holds = (reason: string, message = ''): Verdict => ({ holds: true, reason, message });
export const fails = (reason: string, message: string): Verdict => ({ holds: false, reason, message });

export const conditionOf = (type: string, { holds: isTrue, reason, message }: Verdict): WantedCondition => ({
  type,
  status: isTrue ? 'True' : 'False',
  reason,
  message,
});
