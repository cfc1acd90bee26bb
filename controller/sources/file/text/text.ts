import { isUtf8 } from 'node:buffer';
import { codePointName } from '../../../../shared/config-file/quote.ts';
import { characters } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';

const BYTE_ORDER_MARK = '\ufeff';
const LINE_FEED = 0x0a;
/** All control characters except tab, LF and the CR of a CRLF. */
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)/g;

/**
 * The text of a file: UTF-8, with or without a byte order mark. Invalid bytes are reported, and the rest is still returned, so that its
 * errors are found too. null: it is not text at all.
 */
export function readText(bytes: Buffer, path: string, report: DiagnosticReport): string | null {
  if (isUtf16(bytes)) {
    report.error({ path, line: 1, column: 1 }, 'the file is UTF-16; save it as UTF-8');
    return null;
  }
  if (!isUtf8(bytes)) reportBadBytes(bytes, path, report);
  const text = bytes.toString('utf8');
  const clean = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  reportControls(clean, path, report);
  return clean;
}

const isUtf16 = (bytes: Buffer): boolean => (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);

/** The first invalid byte of each line: a line feed is never part of a longer sequence (RFC 3629 3). */
function reportBadBytes(bytes: Buffer, path: string, report: DiagnosticReport): void {
  let start = 0;
  for (let line = 1; start <= bytes.length; line++) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed < 0 ? bytes.length : feed;
    const slice = bytes.subarray(start, end);
    if (!isUtf8(slice)) {
      const { column, byte } = firstBadByte(slice);
      const shown = `0x${byte.toString(16).padStart(2, '0')}`;
      report.error({ path, line, column }, `the byte ${shown} is not UTF-8; save the file as UTF-8`);
    }
    start = end + 1;
  }
}

function firstBadByte(line: Buffer): { column: number; byte: number } {
  let column = line.toString('utf8').startsWith(BYTE_ORDER_MARK) ? 0 : 1;
  let offset = 0;
  for (const char of line.toString('utf8')) {
    const size = Buffer.byteLength(char);
    // Invalid bytes are decoded as U+FFFD, which may also be in the file itself.
    if (char === '\ufffd' && line.subarray(offset, offset + size).toString('hex') !== 'efbfbd') break;
    offset += size;
    column++;
  }
  return { column, byte: line[offset] ?? 0 };
}

/** The first one of each line. */
function reportControls(text: string, path: string, report: DiagnosticReport): void {
  let line = 1;
  let lineStart = 0;
  FORBIDDEN.lastIndex = 0;
  for (let hit = FORBIDDEN.exec(text); hit !== null; hit = FORBIDDEN.exec(text)) {
    let feed = text.indexOf('\n', lineStart);
    for (; feed >= 0 && feed < hit.index; feed = text.indexOf('\n', lineStart)) {
      line++;
      lineStart = feed + 1;
    }
    const what = hit[0] === '\r' ? 'a carriage return without a line feed' : `the control character ${codePointName(hit[0])}`;
    report.error({ path, line, column: characters(text.slice(lineStart, hit.index)) + 1 }, `${what} is not allowed; delete it`);
    if (feed < 0) return;
    FORBIDDEN.lastIndex = feed;
  }
}
