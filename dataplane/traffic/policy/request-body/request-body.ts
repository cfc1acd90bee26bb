import { bodyTooLarge, type OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';

/** `request_body`: the block's own limit, or the site's if the block has none. */
export const requestBody: PolicyKind = (route, handle) => {
  const spec = handle?.request_body ?? route.request_body;
  return spec ? [limitOf(spec.max_size)] : [];
};

function limitOf(max: number): Policy {
  const tooLarge: OwnAnswer = bodyTooLarge(max);
  return {
    name: 'request_body',
    decide(x) {
      // What another target has got counts, too: it is sent again.
      const begun = (x.bodyStart ?? x.held)?.length ?? 0;
      if (Math.max(x.bodyLength, begun) > max) return tooLarge;
      // A body of unknown length is counted while it is forwarded.
      if (x.bodyLength < 0) x.bodyLimit = { left: max - begun, tooLarge };
      return null;
    },
    explain: (x) => (x.bodyLength > max ? answers(`413: ${tooLarge.reason}`) : passes(`bodies of up to ${max} bytes are accepted`)),
  };
}
