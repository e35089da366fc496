/** HTTP requests as bytes. */

export interface RequestFields {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  host: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: object | undefined;
}

export function requestBytes({ method, path, host, headers = {}, body }: RequestFields): Buffer {
  const content = body === undefined ? '' : JSON.stringify(body);
  let head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  if (body !== undefined) {
    head += `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(content)}\r\n`;
  }
  return Buffer.from(`${head}\r\n${content}`);
}
