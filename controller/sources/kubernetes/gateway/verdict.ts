import type { WantedCondition } from '../status/conditions.ts';

/** Whether something holds of an object, with the reason in the API's words. */
export type Verdict = { readonly holds: boolean; readonly reason: string; readonly message: string };

export const holds = (reason: string, message = ''): Verdict => ({ holds: true, reason, message });
export const fails = (reason: string, message: string): Verdict => ({ holds: false, reason, message });

export const conditionOf = (type: string, { holds: isTrue, reason, message }: Verdict): WantedCondition => ({
  type,
  status: isTrue ? 'True' : 'False',
  reason,
  message,
});
