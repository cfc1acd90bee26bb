import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import { fieldIn } from '../../codec/http1/fields.ts';
import { type ErrorPages, isStored, replacedLines } from '../../exchange/error-pages.ts';
import type { AnswerHead, BodySink, BodyStage, Filter, FilteredRequest, StageMaker } from '../../exchange/filter.ts';
import { errorPagesOf } from './error-pages.ts';

/** Most bytes of a replaced body that are read; beyond that, the response is cut off after the page. */
const MOST_DISCARDED = 1_048_576;

/** Replaces the error pages of the upstream by the site's own. */
export class Interceptor implements Filter {
  readonly name = 'handle_errors';
  private readonly pages: ErrorPages;

  constructor(pages: ErrorPages) {
    this.pages = pages;
  }

  begin(request: FilteredRequest, head: AnswerHead): StageMaker | null {
    const { status, bodyless } = head;
    // What the site itself responds with is not replaced, and a gRPC client reads no pages.
    if (status < 400 || (request.endpoint === null && !isStored(request.cached)) || request.hasErrorPage) return null;
    if (/^application\/grpc\b/i.test(fieldIn(request.fields, 'content-type') ?? '')) return null;
    const page = this.pages.intercepted(request, status, head.fields);
    if (page === null) return null;
    head.fields = replacedLines(head.fields, page);
    head.length = page.body.length;
    return bodyless ? null : (next) => new ReplacedBody(page.body, next);
  }
}

class ReplacedBody implements BodyStage {
  private readonly next: BodySink;
  private page: Buffer | null;
  private discarded = 0;

  constructor(page: Buffer, next: BodySink) {
    this.page = page;
    this.next = next;
  }

  body(_: Buffer, from: number, to: number): boolean {
    this.begin();
    this.discarded += to - from;
    if (this.discarded > MOST_DISCARDED) this.next.abort();
    return true;
  }

  flush(): void {
    this.begin();
    this.next.flush();
  }

  end(): void {
    this.begin();
    this.next.end('');
  }

  abort(): void {
    this.next.abort();
  }

  resume(): void {
    // It never pauses its source: nothing of the replaced body is kept.
  }

  cancel(): void {
    this.page = null;
  }

  private begin(): void {
    const { page } = this;
    this.page = null;
    if (page !== null && page.length > 0) this.next.body(page, 0, page.length);
  }
}

/** null where nothing of the upstream is replaced. */
export function interceptorOf(route: RouteSpec, handle: HandleSpec | null): Interceptor | null {
  const specs = [...(handle?.handle_errors ?? []), ...(route.handle_errors ?? [])];
  const intercepts = specs.some(({ intercept, files }) => intercept === true && files === undefined);
  const pages = intercepts ? errorPagesOf(route, handle, null) : null;
  return pages === null ? null : new Interceptor(pages);
}
