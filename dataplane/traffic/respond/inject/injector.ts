import type { RouteSpec } from '../../../../shared/route.ts';
import { fieldIn, fieldsIn, withoutFields } from '../../codec/http1/fields.ts';
import { UNTIL_CLOSE } from '../../exchange/exchange.ts';
import type { AnswerHead, Filter, FilteredRequest, StageMaker } from '../../exchange/filter.ts';
import { parsePolicies } from './content-security-policy.ts';
import { PageStage } from './page-stage.ts';
import { codingOf, RecodedPageStage } from './recoded-page-stage.ts';

/** Fields about exactly the bytes that the upstream has sent, which can't be asked for in part either. */
const OF_THE_BYTES: ReadonlySet<string> = new Set(['accept-ranges', 'content-md5', 'digest', 'content-digest', 'repr-digest']);

/** Adds the script that measures Web Vitals to whole HTML pages, and changes nothing else about them. */
export class Injector implements Filter {
  readonly name = 'analytics';

  begin(request: FilteredRequest, head: AnswerHead): StageMaker | null {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null;
    if (head.status === 304) {
      if (knowsWeakTag(request.fields)) head.fields = weakenTag(head.fields);
      return null;
    }
    if (!isPage(head)) return null;
    const coding = fieldsIn(head.fields, 'content-encoding').join(',').toLowerCase();
    const recoded = codingOf(coding);
    if (coding !== '' && coding !== 'identity' && recoded === null) {
      request.beacon = 'coding';
      return null;
    }
    const policies = fieldsIn(head.fields, 'content-security-policy').flatMap(parsePolicies);
    head.fields = weakenTag(withoutFields(head.fields, OF_THE_BYTES));
    head.length = UNTIL_CLOSE;
    if (recoded === null) return (next, source) => new PageStage(request, policies, next, source);
    return (next, source) => new RecodedPageStage(recoded, request, policies, next, source);
  }
}

/** The site's filter, for all of its blocks; null where its analytics are off. */
export const injectorOf = (route: RouteSpec): Injector | null => (route.analytics == null ? null : new Injector());

/** Whether it is a whole document that a browser shows, in an encoding that contains ASCII, and that may be changed (RFC 9111 5.2.2.6). */
function isPage({ status, fields }: AnswerHead): boolean {
  if (status === 204 || status === 206 || fieldIn(fields, 'content-range') !== null) return false;
  const [type = '', ...parameters] = (fieldIn(fields, 'content-type') ?? '').toLowerCase().split(';');
  if (type.trim() !== 'text/html') return false;
  const charset = parameters.map((one) => one.trim()).find((one) => one.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return false;
  if (/^\s*attachment\b/i.test(fieldIn(fields, 'content-disposition') ?? '')) return false;
  return !fieldsIn(fields, 'cache-control').some((value) => /(^|[\s,])no-transform\b/i.test(value));
}

/** The client has a page that was changed: its tag is the one that we made weak. */
const knowsWeakTag = (fields: string): boolean => /^\s*W\//.test(fieldIn(fields, 'if-none-match') ?? '');

/** What was changed on the way is no longer the same byte for byte (RFC 9110 8.8.1). */
const weakenTag = (fields: string): string => fields.replace(/(^|\r\n)(etag:[ \t]*)(?=")/i, '$1$2W/');
