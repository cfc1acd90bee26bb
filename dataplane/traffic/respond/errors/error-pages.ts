import { faultOfTemplate } from '../../../../shared/placeholders/template.ts';
import { servedIn } from '../../../../shared/policy/handle-errors/chosen-files.ts';
import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { STATUS_CODES } from '../../../../shared/runtime/http/node-http.ts';
import { compileStatuses } from '../../../../shared/values/status.ts';
import type { ErrorPage, ErrorPages, PageSearch } from '../../exchange/pages/error-pages.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import type { AnswerFacts } from '../../exchange/values/placeholders.ts';
import { CONTROLS, compileText, LONGEST_FIELD_VALUE, type Text } from '../../exchange/values/template.ts';
import type { FileTools } from '../files/file-tools.ts';
import { FilePages, type Roots } from './file-pages.ts';

type PageSpec = NonNullable<RouteSpec['handle_errors']>[number];
type PageHeaders = NonNullable<PageSpec['headers']>;
type CompiledPages = {
  readonly isFor: (status: number) => boolean;
  readonly intercepts: boolean;
  readonly names: ReadonlySet<string>;
  /** Content-Type, unless it follows from a file, and the page's own headers. */
  fields(x: EvaluatedRequest, answer: AnswerFacts): string;
  /** null if it would be too long. */
  body(x: EvaluatedRequest, answer: AnswerFacts): Buffer | null;
  /** null for a text or page that came with the route. */
  readonly files: FilePages | null;
  readonly words: string;
};

/** Longest text with its placeholders (bytes). */
const LONGEST_TEXT = 131_072;
const nothing = (): string => '';

/** The block's pages before its site's; null if there are none. */
export function errorPagesOf(
  route: RouteSpec,
  handle: HandleSpec | null,
  files: FileTools,
  remainder: (x: EvaluatedRequest) => string = nothing,
): ErrorPages | null {
  const specs = [...(handle?.handle_errors ?? []), ...(route.handle_errors ?? [])];
  const root = handle?.root ?? route.root ?? null;
  const served = specs.some((spec) => spec.files !== undefined) ? servedIn(route) : [];
  return specs.length === 0
    ? null
    : new Pages(
        specs.map((spec) => compilePage(spec, { root, served, domain: route.domain }, files, remainder)),
        files.clock,
      );
}

class Pages implements ErrorPages {
  readonly clock: Clock;
  private readonly pages: readonly CompiledPages[];

  constructor(pages: readonly CompiledPages[], clock: Clock) {
    this.pages = pages;
    this.clock = clock;
  }

  own(x: EvaluatedRequest, status: number): ErrorPage | PageSearch | null {
    const page = this.pages.find(({ isFor }) => isFor(status));
    if (page === undefined) return null;
    const answer = { status, lines: '' };
    return page.files === null ? made(page, x, answer) : searched(page, page.files, x, answer);
  }

  intercepted(x: EvaluatedRequest, status: number, lines: string): PageSearch | null {
    const page = this.pages.find(({ isFor, intercepts }) => intercepts && isFor(status));
    if (page === undefined) return null;
    const answer = { status, lines };
    if (page.files !== null) return searched(page, page.files, x, answer);
    const text = made(page, x, answer);
    return text === null ? null : found(text);
  }

  explain(): string {
    return this.pages.map(({ words }) => words).join('; ');
  }
}

/** A page that is not in a file. */
const found =
  (page: ErrorPage): PageSearch =>
  (use) => {
    const later = setImmediate(use, page);
    return () => clearImmediate(later);
  };

function made(page: CompiledPages, x: EvaluatedRequest, answer: AnswerFacts): ErrorPage | null {
  const body = page.body(x, answer);
  return body === null ? null : { body, fields: page.fields(x, answer), names: page.names };
}

const searched = ({ fields, names }: CompiledPages, files: FilePages, x: EvaluatedRequest, answer: AnswerFacts): PageSearch =>
  files.search(x, answer, { fields: fields(x, answer), names });

function compilePage(spec: PageSpec, roots: Roots, tools: FileTools, remainder: (x: EvaluatedRequest) => string): CompiledPages {
  const { statuses, headers = [], files } = spec;
  const names = new Set(headers.map(({ name }) => name.toLowerCase()));
  const isFromFile = files !== undefined;
  const type = spec.page === undefined ? 'text/plain; charset=utf-8' : 'text/html; charset=utf-8';
  const typeLine = isFromFile || names.has('content-type') ? '' : `Content-Type: ${type}\r\n`;
  return {
    isFor: statuses === undefined ? (status) => status >= 400 : compileStatuses(statuses),
    intercepts: spec.intercept === true,
    names: new Set([...names, 'content-type']),
    fields: compileFields(typeLine, headers, remainder),
    body: isFromFile ? () => null : spec.page === undefined ? compileBody(spec.respond ?? '', remainder) : compileHtml(spec.page),
    files: isFromFile ? new FilePages(files, roots, tools, remainder) : null,
    words: `${statuses?.join(', ') ?? 'every error'}: ${wordsOf(spec, roots.root)}${spec.intercept === true ? ", also the upstream's" : ''}`,
  };
}

function wordsOf({ page, files }: PageSpec, root: string | null): string {
  if (files !== undefined) return `${files.paths.join(' or ')} below ${files.root ?? root}`;
  return page === undefined ? 'a text' : 'a page';
}

/**
 * A header whose value a client has made too long or unsafe is left out: the page is still better than none. Saved routes may have values
 * of before there were placeholders here, with braces that are none.
 */
function compileFields(first: string, headers: PageHeaders, remainder: (x: EvaluatedRequest) => string): CompiledPages['fields'] {
  const compile = (value: string): Text =>
    faultOfTemplate(value, 'answer') === undefined
      ? compileText(value, { scope: 'answer', longest: LONGEST_FIELD_VALUE, unsafe: CONTROLS, remainder })
      : { constant: value };
  const lines = headers.map(({ name, value }) => ({ name, value: compile(value) }));
  const written = (x: EvaluatedRequest, answer: AnswerFacts): string =>
    lines.reduce((before, { name, value }) => {
      const text = value.constant ?? value.evaluate(x, answer);
      return text === null ? before : `${before}${name}: ${text}\r\n`;
    }, first);
  if (lines.some(({ value }) => value.constant === null)) return written;
  const constant = first + lines.map(({ name, value }) => `${name}: ${value.constant}\r\n`).join('');
  return () => constant;
}

function compileBody(respond: string, remainder: (x: EvaluatedRequest) => string): CompiledPages['body'] {
  const text = compileText(Buffer.from(respond).toString('latin1'), { scope: 'answer', longest: LONGEST_TEXT, unsafe: null, remainder });
  if (text.constant !== null) {
    const bytes = Buffer.from(text.constant, 'latin1');
    return () => bytes;
  }
  return (x, answer) => {
    const value = text.evaluate(x, answer);
    return value === null ? null : Buffer.from(value, 'latin1');
  };
}

/** No text from a client becomes part of HTML. There are few statuses, so each page is built once. */
function compileHtml(html: string): CompiledPages['body'] {
  const made = new Map<number, Buffer>();
  return (_, { status }) => {
    let bytes = made.get(status);
    if (bytes === undefined) {
      const text = STATUS_CODES[status] ?? 'Error';
      bytes = Buffer.from(html.split('{err.status_code}').join(`${status}`).split('{err.status_text}').join(text));
      made.set(status, bytes);
    }
    return bytes;
  };
}
