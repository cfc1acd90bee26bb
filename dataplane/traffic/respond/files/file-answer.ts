import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from '../../../../shared/runtime/http/node-http.ts';
import { httpDate } from '../../codec/date.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import { answer, answerThroughFilters } from '../../exchange/answer.ts';
import { answeredFields } from '../../exchange/answer-fields.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { guardExchange } from '../../exchange/faults.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { beginAnswer, endAnswer, relayBody } from '../../exchange/relay.ts';
import { queryOf } from '../../exchange/values/query.ts';
import { type ByteRange, rangesIn } from './byte-ranges.ts';
import { DiskAccess } from './disk.ts';
import { type BodyPart, FileBody } from './file-body.ts';
import type { FilePath } from './file-path.ts';
import type { FileTools } from './file-tools.ts';
import { type FindResult, find } from './find.ts';
import { LARGEST_HOT } from './hot-files.ts';
import { mediaTypeOf } from './media-type.ts';
import { closePath, refusalOf, SETTLED } from './open.ts';
import { ifRangeHolds, preconditionStatus, type Validators } from './preconditions.ts';
import type { Settings } from './settings.ts';
import { contents } from './whole-file.ts';

/** Which page of a listing is requested. */
const PAGE = /(?:^|&)page=(\d{1,6})(?:&|$)/;
const STATUS_OF = { missing: 404, forbidden: 403, unavailable: 503 };

const own = (status: number, reason: string, fields = '', body: OwnAnswer['body'] = null): OwnAnswer => ({ status, fields, body, reason });

const TOO_MANY = own(
  503,
  'file_server: too many files are being sent or directories listed for the limit of open files',
  'Retry-After: 10\r\n',
);

/** A file with its contents, if they have been read. */
type FoundFile = Extract<FindResult, { file: unknown }> & { readonly body?: Buffer | null };

/** One response of a file server, from the search on. */
export class FileAnswer implements Attempt {
  private readonly x: Exchange;
  private readonly settings: Settings;
  private readonly tools: FileTools;
  /** The key under which the file is cached. */
  private readonly key: string;
  private readonly disk: DiskAccess;
  /** The descriptor of the file until it is sent or closed; -1 for none. */
  private fd = -1;
  private sending: FileBody | null = null;

  constructor(x: Exchange, settings: Settings, tools: FileTools, key: string) {
    this.x = x;
    this.settings = settings;
    this.tools = tools;
    this.key = key;
    this.disk = new DiskAccess(tools, settings.root.path);
  }

  /** Responds with a file that has just been served, if it is still the same. @returns whether there was one. */
  fromMemory(): boolean {
    const hot = this.tools.hot.find(this.key);
    if (hot === null || (hot.body === null && this.needsBody(hot))) return false;
    this.sendFile(hot);
    return true;
  }

  /** `path` is null if no file can have it; `isWritten`: see FileRequest. */
  begin(path: FilePath | null, isWritten: boolean): void {
    this.x.attempt = this;
    this.search(path, isWritten).catch((error: unknown) => this.disk.onFault(this.x, error));
  }

  body(): boolean {
    return true;
  }

  bodyEnd(): void {
    // The request has no body that matters.
  }

  resume(): void {
    this.sending?.resume();
  }

  cancel(): void {
    this.disk.over = true;
    this.sending?.cancel();
    this.closeFile();
  }

  private async search(path: FilePath | null, isWritten: boolean): Promise<void> {
    const { x, settings, disk } = this;
    const found = await find(settings, disk, path, { fields: x.fields, slash: x.path.endsWith('/'), isWritten });
    if ('listing' in found) {
      disk.searched();
      return this.list(found);
    }
    if ('file' in found) this.fd = found.file.fd;
    const ready = 'file' in found && found.file.size <= LARGEST_HOT && !disk.over ? await this.small(found) : found;
    disk.searched();
    if (disk.over) this.closeFile();
    else guardExchange(x, () => this.answer(ready));
  }

  /** Sends a small file as a whole, and caches it for the next requests. */
  private async small({ file, name, coding }: FoundFile): Promise<FoundFile | Extract<FindResult, { refused: string }>> {
    const { tools, disk, key } = this;
    try {
      const content = this.needsBody({ file, coding }) ? await contents(disk, file) : null;
      // A file that has become shorter can't fill its Content-Length, so the response is cut off.
      const body = content?.length === file.size ? content : null;
      const small = { file, name, coding, body };
      // A file that was written a moment ago may still change without a new time.
      if (body === content && tools.clock.now() - file.modified > SETTLED) await tools.hot.add(key, disk, small);
      return small;
    } catch (error) {
      return refusalOf(error);
    }
  }

  /** Whether the response will contain the file, or a part of it. */
  private needsBody(file: Pick<FoundFile, 'file' | 'coding'>): boolean {
    const { x, settings } = this;
    return x.method === 'GET' && (settings.status !== 200 || preconditionStatus(x.fields, this.validatorsOf(file)) === 0);
  }

  private validatorsOf({ file, coding }: Pick<FoundFile, 'file' | 'coding'>): Validators {
    const now = this.tools.clock.now();
    const strong = now - file.modified > SETTLED;
    const modified = Math.floor(Math.min(file.modified, now) / 1_000) * 1_000;
    return { etag: `${strong ? '' : 'W/'}"${file.version}${coding === null ? '' : `-${coding}`}"`, modified, strong };
  }

  private closeFile(): void {
    if (this.fd >= 0) this.disk.close(this.fd);
    this.fd = -1;
  }

  private async list({ listing: fd, names, by }: Extract<FindResult, { listing: number }>): Promise<void> {
    const { x } = this;
    if (!this.tools.descriptors.enterFile()) {
      closePath(this.disk, fd);
      if (!this.disk.over) guardExchange(x, () => this.instead(TOO_MANY));
      return;
    }
    let page: Buffer;
    try {
      page = await by.page(this.disk, fd, { names, hasParent: x.path !== '/', page: Number(PAGE.exec(queryOf(x.target))?.[1] ?? 1) });
    } catch (error) {
      const { refused, reason } = refusalOf(error);
      if (!this.disk.over) guardExchange(this.x, () => this.instead(own(STATUS_OF[refused], `file_server: ${reason}`)));
      return;
    } finally {
      closePath(this.disk, fd);
      this.tools.descriptors.leaveFile();
    }
    const fields =
      "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-cache\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n";
    if (!this.disk.over) guardExchange(this.x, () => this.instead(own(this.settings.status, '', fields, page), true));
  }

  private answer(found: Exclude<FindResult, { listing: number }>): void {
    if ('file' in found) this.sendFile(found);
    else if ('refused' in found) this.instead(own(STATUS_OF[found.refused], `file_server: ${found.reason}`));
    else if ('status' in found) this.instead(own(found.status, 'file_server: none of try_files exists'));
    else this.instead(own(308, '', `Location: ${directoryTarget(this.x)}\r\n`, ''));
  }

  /** Responds without a file. */
  private instead(answered: OwnAnswer, filtered = false): void {
    this.closeFile();
    this.x.attempt = null;
    if (filtered) answerThroughFilters(this.x, answered);
    else answer(this.x, answered);
  }

  private sendFile(found: FoundFile): void {
    const { x, settings } = this;
    const { file, name, coding, body = null } = found;
    const validators = this.validatorsOf(found);
    const { etag, modified } = validators;
    const plain = settings.status === 200;
    const dated = `ETag: ${etag}\r\nLast-Modified: ${new Date(modified).toUTCString()}\r\n`;
    const vary = settings.precompressed.length > 0 ? 'Vary: Accept-Encoding\r\n' : '';
    const status = plain ? preconditionStatus(x.fields, validators) : 0;
    if (status !== 0) return this.instead(own(status, '', status === 304 ? dated + vary : ''), status === 304);
    const ranges = plain && x.method === 'GET' && ifRangeHolds(x.fields, validators) ? rangesOf(x.fields, file.size) : null;
    if (ranges?.length === 0) return this.instead(own(416, '', `Content-Range: bytes */${file.size}\r\n`));
    const type = mediaTypeOf(name);
    const { fields, parts, length } = ranges === null ? whole(type, file.size) : partial(type, file.size, ranges);
    const streams = body === null && x.method !== 'HEAD' && length > 0;
    if (streams && !this.tools.descriptors.enterFile()) return this.instead(TOO_MANY);
    x.contentType = type;
    const encoding = coding === null ? '' : `Content-Encoding: ${coding}\r\n`;
    const lines = fields + encoding + vary + (plain ? `${dated}Accept-Ranges: bytes\r\n` : '');
    try {
      this.sendHead(ranges === null ? settings.status : 206, lines, length);
    } catch (error) {
      if (streams) this.tools.descriptors.leaveFile();
      throw error;
    }
    if (x.method === 'HEAD' || length === 0) {
      this.closeFile();
      x.attempt = null;
      return endAnswer(x, '');
    }
    if (body !== null) {
      for (const part of parts) {
        if ('text' in part) relayBody(x, part.text, 0, part.text.length);
        else relayBody(x, body, part.from, part.to);
      }
      this.closeFile();
      x.attempt = null;
      return endAnswer(x, '');
    }
    // The client may have left while the head was sent.
    if (this.fd < 0) return this.tools.descriptors.leaveFile();
    this.fd = -1;
    this.sending = new FileBody(x, this.disk, file.fd, parts, () => this.tools.descriptors.leaveFile());
    this.sending.resume();
  }

  private sendHead(status: number, fields: string, length: number): void {
    const { x } = this;
    const lines = httpDate() + fields;
    beginAnswer(
      x,
      status,
      STATUS_CODES[status] ?? '',
      x.block === null ? lines : answeredFields(x.block.ownFields, x, status, lines),
      length,
    );
  }
}

/** A single Range of a request; more are ignored. */
function rangesOf(fields: string, size: number): readonly ByteRange[] | null {
  const values = fieldsIn(fields, 'range');
  return values.length === 1 ? rangesIn(values[0] as string, size) : null;
}

type Content = { readonly fields: string; readonly parts: readonly BodyPart[]; readonly length: number };

const whole = (type: string, size: number): Content => ({
  fields: `Content-Type: ${type}\r\n`,
  parts: [{ from: 0, to: size }],
  length: size,
});

/** One range as it is, several as multipart/byteranges (RFC 9110 14.6). */
function partial(type: string, size: number, ranges: readonly ByteRange[]): Content {
  const [first] = ranges;
  if (ranges.length === 1 && first)
    return {
      fields: `Content-Type: ${type}\r\nContent-Range: ${contentRange(first, size)}\r\n`,
      parts: [first],
      length: first.to - first.from,
    };
  const boundary = randomBytes(18).toString('base64url');
  const parts = ranges.flatMap((range): BodyPart[] => [
    { text: Buffer.from(`\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, size)}\r\n\r\n`) },
    range,
  ]);
  parts.push({ text: Buffer.from(`\r\n--${boundary}--\r\n`) });
  const length = parts.reduce((sum, part) => sum + ('text' in part ? part.text.length : part.to - part.from), 0);
  return { fields: `Content-Type: multipart/byteranges; boundary=${boundary}\r\n`, parts, length };
}

const contentRange = ({ from, to }: ByteRange, size: number): string => `bytes ${from}-${to - 1}/${size}`;

/** The path that the client sent, normalized, with a slash at its end. It begins with exactly one slash, so it can't name another host. */
function directoryTarget({ path, target }: Exchange): string {
  const escaped = path.replace(
    /[^\x21-\x7e]|[\\"<>^`{|}]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  );
  const query = target.indexOf('?');
  return `${escaped}/${query < 0 ? '' : target.slice(query)}`;
}
