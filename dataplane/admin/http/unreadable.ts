import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestOrigin } from '../../../shared/api/foreign-request.ts';

/** An error of Node's parser, with what it was reading. */
export type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly bytesParsed?: number };

/** What Node's parser reports if it does not know a method, or only as one of RTSP. */
const UNKNOWN_METHOD: ReadonlySet<string | undefined> = new Set(['HPE_INVALID_METHOD', 'HPE_INVALID_CONSTANT']);
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP\/1\.[01]$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/;

/** A request without its body; node:http's IncomingMessage has these parts. */
export type RequestHead = RequestOrigin & { readonly method?: string | undefined };

/**
 * The head of a request whose method Node's parser does not know, such as one in lower case. null if the error is about something else, or
 * if the head is not the beginning of what has arrived at once, as clients send it.
 */
export function headOfUnknownMethod({ code, rawPacket, bytesParsed = 0 }: ParseError): RequestHead | null {
  const text = UNKNOWN_METHOD.has(code) ? (rawPacket?.toString('latin1') ?? '') : '';
  const [line = '', ...lines] = text.slice(0, Math.max(0, text.indexOf('\r\n\r\n'))).split('\r\n');
  const [, method, url] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined || url === undefined || bytesParsed > line.length) return null;
  const headers = new Map<string, string[]>();
  for (const field of lines) {
    const [, name, value] = FIELD_LINE.exec(field) ?? [];
    if (name === undefined || value === undefined) return null;

    const values = headers.get(name.toLowerCase()) ?? [];
    values.push(value.trim());
    headers.set(name.toLowerCase(), values);
  }
  const first = [...headers].map(([name, [value]]) => [name, value]);
  return { method, url, headers: Object.fromEntries(first), headersDistinct: Object.fromEntries(headers) };
}

/** Responds to bytes that are not an HTTP request. */
export function refuseBytes(error: NodeJS.ErrnoException | null, socket: Socket): void {
  endWith(error, socket, 400, { error: 'malformed request' });
}

/** Responds on a connection whose requests Node no longer reads, and closes it. */
export function endWith(
  error: NodeJS.ErrnoException | null,
  socket: Socket,
  status: number,
  body: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  if (error?.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const text = JSON.stringify(body);
  const fields = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), Connection: 'close', ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`);
}
