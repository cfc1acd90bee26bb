import { CHALLENGE_SCRIPT_PATH } from '../../../../shared/name.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { answer } from '../../exchange/answer.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { OwnPaths } from '../../respond/beacon/beacon.ts';
import { CHALLENGE_SCRIPT } from './page.ts';

const NO_POST: OwnAnswer = { status: 405, fields: 'Allow: GET, HEAD\r\n', body: null, reason: 'the script of under_attack is only read' };

/** Adds the script of the challenge to the paths that a site answers itself, if the site can be under attack. */
export function withChallengeScript({ under_attack, challenge }: RouteSpec, others: OwnPaths): OwnPaths {
  if (!under_attack && challenge?.auto_rps === undefined) return others;
  return {
    serve(x, tools) {
      if (x.path !== CHALLENGE_SCRIPT_PATH) others.serve(x, tools);
      else answer(x, x.method === 'GET' || x.method === 'HEAD' ? CHALLENGE_SCRIPT : NO_POST);
    },
    explain: (path) => (path === CHALLENGE_SCRIPT_PATH ? `200: ${CHALLENGE_SCRIPT.reason}` : others.explain(path)),
  };
}
