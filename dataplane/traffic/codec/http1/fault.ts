/** Why a message is refused: the response status and the reason for the log. */
export type Fault = { readonly status: 400 | 413 | 414 | 417 | 431 | 501 | 505; readonly reason: string };

const fault = (status: Fault['status'], reason: string): Fault => ({ status, reason });

/** Every reason to refuse the bytes of a message. The text names the rule and never quotes the bytes. */
export const FAULT = {
  badMethod: fault(400, 'the method is not a token'),
  badTarget: fault(400, 'the request target is malformed'),
  badRequestLine: fault(400, 'the request line is malformed'),
  badVersion: fault(400, 'the version is neither HTTP/1.0 nor HTTP/1.1'),
  badStatusLine: fault(400, 'the status line is malformed'),
  bareLineEnd: fault(400, 'a line ends without CRLF'),
  badFieldName: fault(400, 'a field name is empty or not a token'),
  foldedLine: fault(400, 'a field line is folded'),
  badFieldValue: fault(400, 'a field value has a control character'),
  blankEdge: fault(400, 'a field value begins or ends with white space beyond ASCII'),
  badExpectation: fault(417, 'Expect is not exactly one 100-continue'),
  badHost: fault(400, 'Host is missing, repeated or malformed'),
  hostDisagrees: fault(400, 'Host and the request target disagree'),
  badLength: fault(400, 'Content-Length is repeated or not a number'),
  badCoding: fault(400, 'Transfer-Encoding is repeated or not chunked'),
  lengthAndCoding: fault(400, 'both Content-Length and Transfer-Encoding are present'),
  codingInOldVersion: fault(400, 'Transfer-Encoding does not exist in HTTP/1.0'),
  badChunk: fault(400, 'a chunk is malformed'),
  badTrailer: fault(400, 'a trailer field is malformed or carries framing'),
  badConnection: fault(400, 'Connection is malformed'),
  badUpgrade: fault(400, 'Upgrade is not a list of protocols'),
  tunnelRequest: fault(501, 'CONNECT is not supported'),
  longTarget: fault(414, 'the request target is too long'),
  longHead: fault(431, 'the head is too large'),
  manyFields: fault(431, 'the head has too many fields'),
  longTrailers: fault(431, 'the trailers are too large'),
  longExtensions: fault(400, 'the chunk extensions are too long'),
} as const;
