import { isAbsolute } from 'node:path';
import { accepted, type Parsed, refused } from './parsed.ts';

/** Whether and where the requests of a site are logged: `on` is where all requests are, or standard output; anything else is a path. */
export type AccessLogSpec = 'on' | 'off' | 'stdout' | (string & {});

const LONGEST_PATH = 4_096;
const ENDINGS = ['.log', '.json'];

/** The path of a log file that a site names. Its ending keeps a route from appending to files that are something else. */
export function parseLogFile(text: string): Parsed<string> {
  if (!isAbsolute(text)) return refused('the path of a log file must be absolute, such as /var/log/sluice/shop.log');
  if (!ENDINGS.some((ending) => text.endsWith(ending) && !text.endsWith(`/${ending}`)))
    return refused(`the name of a log file must end with ${ENDINGS.join(' or ')}`);
  if (Buffer.byteLength(text) > LONGEST_PATH) return refused(`the path of a log file is at most ${LONGEST_PATH} bytes long`);
  if ([...text].some((character) => character < ' ' || character === '\x7f'))
    return refused('the path of a log file has a control character');
  return accepted(text);
}

export function parseAccessLog(text: string): Parsed<AccessLogSpec> {
  return text === 'on' || text === 'off' || text === 'stdout' ? accepted(text) : parseLogFile(text);
}
