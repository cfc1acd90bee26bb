import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import { STATUS_CODES } from '../../../../shared/runtime/http.ts';
import { compileStatuses } from '../../../../shared/values/status.ts';
import type { ErrorPage, ErrorPages } from '../../exchange/error-pages.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { compileText } from '../../exchange/values/template.ts';

type PageSpec = NonNullable<RouteSpec['handle_errors']>[number];
type Compiled = {
  readonly isFor: (status: number) => boolean;
  readonly intercepts: boolean;
  readonly names: ReadonlySet<string>;
  readonly fields: string;
  /** null if it would be too long. */
  body(x: EvaluatedRequest, status: number, lines: string): Buffer | null;
};

/** Longest text with its placeholders (bytes). */
const LONGEST_TEXT = 131_072;
const nothing = (): string => '';

/** The block's pages before its site's; null if there are none. */
export function errorPagesOf(
  route: RouteSpec,
  handle: HandleSpec | null,
  remainder: (x: EvaluatedRequest) => string = nothing,
): ErrorPages | null {
  const specs = [...(handle?.handle_errors ?? []), ...(route.handle_errors ?? [])];
  return specs.length === 0 ? null : new Pages(specs.map((spec) => compilePage(spec, remainder)));
}

class Pages implements ErrorPages {
  private readonly pages: readonly Compiled[];

  constructor(pages: readonly Compiled[]) {
    this.pages = pages;
  }

  own(x: EvaluatedRequest, status: number): ErrorPage | null {
    return made(
      this.pages.find(({ isFor }) => isFor(status)),
      x,
      status,
      '',
    );
  }

  intercepted(x: EvaluatedRequest, status: number, lines: string): ErrorPage | null {
    return made(
      this.pages.find(({ isFor, intercepts }) => intercepts && isFor(status)),
      x,
      status,
      lines,
    );
  }
}

function made(page: Compiled | undefined, x: EvaluatedRequest, status: number, lines: string): ErrorPage | null {
  const body = page?.body(x, status, lines) ?? null;
  return page === undefined || body === null ? null : { body, fields: page.fields, names: page.names };
}

function compilePage(spec: PageSpec, remainder: (x: EvaluatedRequest) => string): Compiled {
  const { statuses, headers = [] } = spec;
  const names = new Set(headers.map(({ name }) => name.toLowerCase()));
  const own = headers.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  const type = spec.page === undefined ? 'text/plain; charset=utf-8' : 'text/html; charset=utf-8';
  return {
    isFor: statuses === undefined ? (status) => status >= 400 : compileStatuses(statuses),
    intercepts: spec.intercept === true,
    names: new Set([...names, 'content-type']),
    fields: names.has('content-type') ? own : `Content-Type: ${type}\r\n${own}`,
    body: spec.page === undefined ? compileBody(spec.respond ?? '', remainder) : compileHtml(spec.page),
  };
}

function compileBody(respond: string, remainder: (x: EvaluatedRequest) => string): Compiled['body'] {
  const text = compileText(Buffer.from(respond).toString('latin1'), { scope: 'answer', longest: LONGEST_TEXT, unsafe: null, remainder });
  if (text.constant !== null) {
    const bytes = Buffer.from(text.constant, 'latin1');
    return () => bytes;
  }
  return (x, status, lines) => {
    const value = text.evaluate(x, { status, lines });
    return value === null ? null : Buffer.from(value, 'latin1');
  };
}

/** Nothing that comes from a client becomes part of HTML. There are few statuses, so each page is made once. */
function compileHtml(html: string): Compiled['body'] {
  const made = new Map<number, Buffer>();
  return (_, status) => {
    let bytes = made.get(status);
    if (bytes === undefined) {
      const text = STATUS_CODES[status] ?? 'Error';
      bytes = Buffer.from(html.split('{err.status_code}').join(`${status}`).split('{err.status_text}').join(text));
      made.set(status, bytes);
    }
    return bytes;
  };
}
