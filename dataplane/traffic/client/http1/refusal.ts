import { httpDate } from '../../codec/date.ts';
import type { Fault } from '../../codec/http1/fault.ts';

export type RefusalStatus = Fault['status'] | 408 | 500;

const REASONS: Readonly<Record<RefusalStatus, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  505: 'HTTP Version Not Supported',
};

/** The complete response, head and body, to bytes that are not a valid request; the connection closes after it. */
export function refusal(status: RefusalStatus, reason: string): string {
  const body = `${status} ${reason}\n`;
  return `HTTP/1.1 ${status} ${REASONS[status]}\r\n${httpDate()}Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}
