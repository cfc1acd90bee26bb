import { HOST_VALUE, isHost, OF_TARGET } from '../../../../shared/policy/request-header/names.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { compileChanges } from '../../exchange/values/field-changes.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { LONGEST_SECTION, NAMES } from '../request-header/request-header.ts';
import { requestFields } from './fields.ts';

type Changes = NonNullable<NonNullable<RouteSpec['forward_auth']>['request_headers']>;

/** The fields of a request that the authentication server gets. */
export type QuestionFields = {
  /** Whole lines; null if a value is unsafe in one. */
  fieldsFor(x: Exchange): string | null;
  /** The Host for the server instead of the client's: its own name or address; null for the one in the lines. */
  readonly hostOfTarget: 'hostport' | 'host' | null;
};

/** The fields of the client's request, changed by `header_up` of the block. */
export function compileQuestionFields(changes: Changes, remainder: (x: EvaluatedRequest) => string): QuestionFields {
  const host = changes.findLast(({ name }) => isHost(name));
  const hostOfTarget = OF_TARGET.get(host?.value ?? '') ?? null;
  if (changes.length === 0) return { fieldsFor: requestFields, hostOfTarget };
  const setsHost = host !== undefined && hostOfTarget === null;
  // One that stands for the target is no placeholder of a request.
  const lines = compileChanges(
    changes.filter(({ name, value }) => !isHost(name) || !OF_TARGET.has(value ?? '')),
    'request',
    { remainder },
    NAMES,
  );
  return {
    hostOfTarget,
    fieldsFor(x) {
      const fields = lines.apply(requestFields(x), x, NO_ANSWER, true);
      if (fields === null || fields.length > LONGEST_SECTION) return null;
      return setsHost && !HOST_VALUE.test(fieldIn(fields, 'host') ?? '') ? null : fields;
    },
  };
}
