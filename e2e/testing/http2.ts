import { once } from 'node:events';
import { connect } from 'node:http2';

/** GETs of a host over one HTTP/2 connection, all at once. */
export async function visitOverHttp2(port: number, host: string, paths: readonly string[]) {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    return await Promise.all(
      paths.map(async (path) => {
        const stream = session.request({ ':authority': host, ':path': path });
        const [head] = (await once(stream, 'response')) as [Readonly<Record<string, string | number>>];
        let text = '';
        for await (const piece of stream.setEncoding('utf8')) text += piece;
        return [head[':status'], head, text] as const;
      }),
    );
  } finally {
    session.close();
  }
}
