import type { RouteSpec } from '../../../../shared/route.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import { UNTIL_CLOSE } from '../../exchange/exchange.ts';
import type { AnswerHead, Filter, FilteredRequest, StageMaker } from '../../exchange/filter.ts';
import { ENCODER_MEMORY, type EncoderMemory } from '../encode/memory.ts';
import { scriptNonce } from './content-security-policy.ts';
import { originOf, type Page } from './insertion.ts';
import { changedFields, charsetIn, notModifiedFields, readPageHead } from './page-head.ts';
import { PageStage } from './page-stage.ts';
import { codingOf, RecodedPageStage } from './recoded-page-stage.ts';

/** Adds the script that measures Web Vitals to complete HTML pages, and changes nothing else about them. */
class Injector implements Filter {
  readonly name = 'analytics';
  private readonly memory: EncoderMemory;

  constructor(memory = ENCODER_MEMORY) {
    this.memory = memory;
  }

  begin(request: FilteredRequest, head: AnswerHead): StageMaker | null {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null;
    if (head.status === 304) {
      head.fields = notModifiedFields(head.fields, fieldIn(request.fields, 'if-none-match'));
      return null;
    }
    if (head.status === 204 || head.status === 206 || head.length === 0) return null;
    if (!HTML.test(fieldIn(head.fields, 'content-type') ?? '')) return null;
    const { contentType, contentEncoding, policies, scriptsNeedDigest, fixed } = readPageHead(head.fields);
    if (fixed) return null;
    const charset = charsetIn(contentType);
    const plain = contentEncoding === '' || contentEncoding === 'identity';
    const coding = plain ? null : codingOf(contentEncoding);
    if (charset !== null && !/^utf-?8$/.test(charset)) request.beacon = 'encoding';
    else if (!plain && coding === null) request.beacon = 'coding';
    else if (coding !== null && !this.memory.has(coding.cost)) request.beacon = 'memory';
    // A policy in the page can only add restrictions.
    else if (scriptsNeedDigest || scriptNonce(policies, originOf(request)) === null) request.beacon = 'forbidden';
    if (request.beacon !== null) return null;
    head.fields = changedFields(head.fields);
    head.length = UNTIL_CLOSE;
    const page: Page = { request, policies, encoded: charset !== null };
    if (coding === null) return (next, source) => new PageStage(page, next, source);
    return (next, source) => new RecodedPageStage(coding, this.memory, page, next, source);
  }
}

const HTML = /^text\/html\s*(?:;|$)/i;

/** The site's filter, for all of its blocks; null where its analytics are off. */
export const injectorOf = (route: RouteSpec): Injector | null => (route.analytics == null ? null : new Injector());
